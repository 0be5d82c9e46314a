#include "block.h"

#include <algorithm>

namespace attune::emulator {

// A warp that has branched back this often lets the others run: it may wait for what they write.
static constexpr uint32_t turns_before_others = 1u << 20;

Block::Block(const Launch &launch) : launch(launch), program(*launch.program) {
    const uint32_t threads = launch.threads(), count = (threads + warp_size - 1) / warp_size;
    warps.resize(count);
    states.resize(count);
    register_memory.resize(static_cast<size_t>(count) * program.register_bytes + 128);
    shared.resize(program.static_shared + launch.dynamic_shared);
    local.resize(program.local_bytes * count * warp_size);
    if (launch.settings.races) races = std::make_unique<RaceCheck>(shared.size(), count);
    auto *first = reinterpret_cast<uint8_t *>((reinterpret_cast<uint64_t>(register_memory.data()) + 127) / 128 * 128);
    for (uint32_t i = 0; i < count; ++i) {
        Warp &w = warps[i];
        w.block = this;
        w.index = i;
        w.registers = first + static_cast<size_t>(i) * program.register_bytes;
        const uint32_t lanes = std::min(threads - i * warp_size, warp_size);
        w.lanes = lanes == warp_size ? all_lanes : (1u << lanes) - 1;
    }
}

void Block::run(const uint32_t where[3]) {
    std::copy(where, where + 3, place);
    start();
    run_warps();
}

uint64_t Block::executed() const {
    uint64_t sum = 0;
    for (const Warp &w : warps)
        sum += w.executed;
    return sum;
}

void Block::start() {
    std::fill(shared.begin(), shared.end(), uint8_t(0xff));
    std::fill(local.begin(), local.end(), uint8_t(0xff));
    std::fill(states.begin(), states.end(), State::ready);
    for (Barrier &barrier : barriers)
        barrier = Barrier();
    if (races) races->begin_block();
    if (program.has_wgmma) {
        proxies = std::make_unique<ProxyCheck>(shared.size(), static_cast<uint32_t>(warps.size()));
        warpgroups = std::make_unique<WarpgroupCheck>(static_cast<uint32_t>(warps.size()));
    }
    for (Warp &w : warps)
        start_warp(w);
}

void Block::start_warp(Warp &w) {
    w.pc = 0;
    w.active = w.lanes;
    w.carry = 0;
    w.waiting.clear();
    w.held = {0, 0};
    w.copies = AsyncCopies();
    w.products = GroupProducts();
    std::copy(program.constants.begin(), program.constants.end(), w.registers);
    std::memset(w.registers + program.constants.size(), 0xff, program.register_bytes - program.constants.size());
    for (const Slot &slot : program.slots) {
        if (slot.origin == Slot::Origin::special) fill_special(w, slot);
    }
    if (!launch.settings.uninitialised) return;
    w.all_executed.assign(program.code.size(), 0);
    w.defined.assign(program.slots.size(), 0);
    for (size_t i = 0; i < program.slots.size(); ++i) {
        if (program.slots[i].origin != Slot::Origin::reg) w.defined[i] = all_lanes;
    }
}

static uint32_t special_value(const Slot &slot, uint32_t lane) {
    switch (slot.special) {
    case Special::laneid:
        return lane;
    case Special::lanemask_eq:
        return 1u << lane;
    case Special::lanemask_lt:
        return (1u << lane) - 1;
    case Special::lanemask_le:
        return (2u << lane) - 1;
    case Special::lanemask_gt:
        return ~((2u << lane) - 1);
    case Special::lanemask_ge:
        return ~((1u << lane) - 1);
    case Special::one:
        return slot.axis < 3 ? 1 : 0;
    default:
        return 0;
    }
}

void Block::fill_special(Warp &w, const Slot &slot) {
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const uint32_t thread = w.index * warp_size + lane, *dim = launch.block;
        const uint32_t tid[3] = {thread % dim[0], thread / dim[0] % dim[1], thread / dim[0] / dim[1]};
        uint32_t value = special_value(slot, lane);
        if (slot.special == Special::tid) value = tid[slot.axis];
        if (slot.special == Special::ntid) value = dim[slot.axis];
        if (slot.special == Special::ctaid) value = place[slot.axis];
        if (slot.special == Special::nctaid) value = launch.grid[slot.axis];
        if (slot.special == Special::warpid) value = w.index;
        if (slot.special == Special::nwarpid) value = static_cast<uint32_t>(warps.size());
        if (slot.special == Special::dynamic_shared) value = launch.dynamic_shared;
        if (slot.special == Special::total_shared) value = static_cast<uint32_t>(shared.size());
        if (slot.width == Width::wide) {
            w.row<uint64_t>(slot.offset)[lane] = value;
        } else {
            w.row<uint32_t>(slot.offset)[lane] = value;
        }
    }
}

void Block::run_warps() {
    const auto count = static_cast<uint32_t>(warps.size());
    while (true) {
        bool ran = false;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t index = launch.settings.reverse_warps ? count - 1 - i : i;
            if (states[index] != State::ready) continue;
            ran = true;
            try {
                run_warp(warps[index]);
            } catch (const Error &error) {
                throw describe(warps[index], error);
            }
        }
        if (ran) continue;
        if (std::all_of(states.begin(), states.end(), [](State state) { return state == State::done; })) return;
        fail_waiting();
    }
}

void Block::run_warp(Warp &w) {
    const Instruction *code = program.code.data();
    const bool checks = launch.settings.uninitialised;
    for (uint32_t turns = 0; turns < turns_before_others;) {
        const Instruction &x = code[w.pc];
        w.exec = w.active;
        if (x.guard != no_guard) w.exec &= x.guard_negated ? ~w.mask(x.guard) : w.mask(x.guard);
        if (checks) check_defined(w, x);
        ++w.executed;
        if (x.flow == Flow::next) {
            if (w.exec != 0) x.run(w, x);
            ++w.pc;
        } else {
            turns += x.flow == Flow::branch && x.target <= w.pc;
            if (control(w, x)) return;
        }
        if (!w.waiting.empty()) reconverge(w);
    }
}

/** True where the warp stops for now. */
bool Block::control(Warp &w, const Instruction &x) {
    if (x.flow == Flow::branch) {
        branch(w, x);
        return false;
    }
    if (x.flow == Flow::exit) return leave(w);
    if (w.exec == 0) {
        ++w.pc;
        return false;
    }
    if (hold(w)) return false;
    require_converged(w, w.lanes);
    x.run(w, x);
    ++w.pc;
    return states[w.index] == State::waiting;
}

static void wait_at(Warp &w, uint32_t pc, uint32_t lanes) {
    auto at = std::find_if(w.waiting.begin(), w.waiting.end(), [pc](const Fragment &f) { return f.pc <= pc; });
    if (at != w.waiting.end() && at->pc == pc) {
        at->lanes |= lanes;
    } else {
        w.waiting.insert(at, {pc, lanes});
    }
}

void Block::branch(Warp &w, const Instruction &x) {
    const uint32_t stay = w.active & ~w.exec, next = w.pc + 1;
    if (w.exec == 0 || x.target == next) {
        w.pc = next;
    } else if (stay == 0) {
        w.pc = x.target;
    } else {
        wait_at(w, std::max(x.target, next), x.target > next ? w.exec : stay);
        w.active = x.target > next ? stay : w.exec;
        w.pc = std::min(x.target, next);
    }
}

bool Block::leave(Warp &w) {
    w.active &= ~w.exec;
    if (w.active != 0) {
        ++w.pc;
        return false;
    }
    if (w.waiting.empty() && w.held.lanes == 0) {
        states[w.index] = State::done;
        return true;
    }
    if (w.waiting.empty()) std::swap(w.held, w.waiting.emplace_back(Fragment{0, 0}));
    resume(w);
    return false;
}

void Block::resume(Warp &w) {
    w.pc = w.waiting.back().pc;
    w.active = w.waiting.back().lanes;
    w.waiting.pop_back();
}

/** Lanes that come to a barrier before others of their warp stand there until these come: where a warp's ways meet may lie before where
 * they lead through. True where others run. */
bool Block::hold(Warp &w) {
    if (w.exec != w.active) return false;
    if (w.held.lanes != 0 && w.held.pc == w.pc) w.active |= w.held.lanes, w.exec = w.active, w.held = {0, 0};
    if (w.active == w.lanes || w.held.lanes != 0 || w.waiting.empty()) return false;
    w.held = {w.pc, w.active};
    resume(w);
    return true;
}

/** The lanes at the lowest instruction run. */
void Block::reconverge(Warp &w) {
    const Fragment next = w.waiting.back();
    if (w.pc < next.pc) return;
    w.waiting.pop_back();
    if (w.pc == next.pc) {
        w.active |= next.lanes;
        return;
    }
    wait_at(w, w.pc, w.active);
    w.pc = next.pc;
    w.active = next.lanes;
}

void Block::check_defined(Warp &w, const Instruction &x) const {
    if (w.all_executed[w.pc]) return;
    const Instruction &next = (&x)[1];
    const uint32_t end = &x == &program.code.back() ? x.first : next.first;
    for (uint32_t u = x.first; u < end; ++u) {
        const Use &use = program.uses[u];
        const bool is_guard = x.guard != no_guard && u + 1 == end;
        const uint32_t lanes = is_guard ? w.active : w.exec;
        if (use.reads && (w.defined[use.slot] & lanes) != lanes) throw launch_error("it reads a register that was never written");
    }
    for (uint32_t u = x.first; u < end; ++u) {
        if (program.uses[u].writes) w.defined[program.uses[u].slot] |= w.exec;
    }
    w.all_executed[w.pc] = w.exec == w.lanes;
}

int Block::line_of(const Warp &w) const {
    const auto &statements = program.kernel.code;
    const uint32_t index = program.code[w.pc].statement;
    return index < statements.size() ? statements[index].line : 0;
}

Error Block::describe(const Warp &w, const Error &error) const {
    const auto &statements = program.kernel.code;
    const uint32_t index = program.code[w.pc].statement;
    const std::string text = index < statements.size() ? statements[index].text : "the end";
    return Error(error.status, "kernel " + program.kernel.name + ", PTX line " + std::to_string(line_of(w)) + ", \"" + text +
                                   "\", block (" + std::to_string(place[0]) + ", " + std::to_string(place[1]) + ", " +
                                   std::to_string(place[2]) + "), warp " + std::to_string(w.index) + ": " + error.what());
}

} // namespace attune::emulator
