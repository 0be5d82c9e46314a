// Gives registers their rows. PTX has a register for every value; where few are alive at once, their rows stay in the cache. Every lane
// writes only its own part of a row, so what holds for one thread's control flow holds for the warp's, divergent or not.
#include <algorithm>
#include <queue>

#include "decode.h"

namespace attune::emulator {
namespace {

using Bits = std::vector<uint64_t>;

/** A run of instructions without a branch into or out of its middle. */
struct BasicBlock {
    uint32_t begin = 0, end = 0;
    std::vector<uint32_t> next; // instructions that begin a block
    Bits used, written, live_in, live_out;
};

/** The instructions, as numbers, between which a register's value is needed. */
struct Lifetime {
    uint32_t begin = ~0u, end = 0;
    void add(uint32_t at) {
        begin = std::min(begin, at);
        end = std::max(end, at);
    }
};

class Liveness {
public:
    explicit Liveness(const Program &program)
        : program(program), words((program.slots.size() + 63) / 64), lifetimes(program.slots.size()) {}

    std::vector<Lifetime> find() {
        split();
        for (BasicBlock &block : blocks)
            summarise(block);
        while (propagate()) {
        }
        for (const BasicBlock &block : blocks)
            extend(block);
        return std::move(lifetimes);
    }

private:
    const Program &program;
    size_t words;
    std::vector<Lifetime> lifetimes;
    std::vector<BasicBlock> blocks;
    std::vector<uint32_t> block_of; // by first instruction

    uint32_t uses_end(uint32_t i) const {
        return i + 1 < program.code.size() ? program.code[i + 1].first : static_cast<uint32_t>(program.uses.size());
    }

    void split() {
        const auto count = static_cast<uint32_t>(program.code.size());
        std::vector<char> begins(count + 1);
        begins[0] = begins[count] = 1;
        for (uint32_t i = 0; i < count; ++i) {
            const Instruction &x = program.code[i];
            if (x.flow == Flow::branch) begins[x.target] = 1;
            if (x.flow == Flow::branch || x.flow == Flow::exit) begins[i + 1] = 1;
        }
        block_of.resize(count + 1);
        for (uint32_t i = 0; i < count; ++i) {
            if (begins[i]) {
                blocks.emplace_back();
                blocks.back().begin = i;
            }
            blocks.back().end = i + 1;
            block_of[i] = static_cast<uint32_t>(blocks.size() - 1);
        }
        for (BasicBlock &block : blocks) {
            const Instruction &last = program.code[block.end - 1];
            const bool always = last.guard == no_guard;
            if (last.flow == Flow::branch) block.next.push_back(last.target);
            if (block.end < count && !(always && (last.flow == Flow::branch || last.flow == Flow::exit))) block.next.push_back(block.end);
            block.used = block.written = block.live_in = block.live_out = Bits(words);
        }
    }

    void summarise(BasicBlock &block) const {
        for (uint32_t i = block.begin; i < block.end; ++i) {
            const bool guarded = program.code[i].guard != no_guard;
            for (uint32_t u = program.code[i].first; u < uses_end(i); ++u) {
                const Use &use = program.uses[u];
                const uint64_t bit = 1ull << use.slot % 64;
                if ((use.reads || guarded) && !(block.written[use.slot / 64] & bit)) block.used[use.slot / 64] |= bit;
            }
            for (uint32_t u = program.code[i].first; u < uses_end(i); ++u) {
                const Use &use = program.uses[u];
                if (use.writes && !guarded) block.written[use.slot / 64] |= 1ull << use.slot % 64;
            }
        }
    }

    bool propagate() {
        bool changed = false;
        for (size_t b = blocks.size(); b-- > 0;) {
            BasicBlock &block = blocks[b];
            for (size_t word = 0; word < words; ++word) {
                uint64_t out = 0;
                for (const uint32_t next : block.next)
                    out |= blocks[block_of[next]].live_in[word];
                const uint64_t in = block.used[word] | (out & ~block.written[word]);
                changed = changed || in != block.live_in[word] || out != block.live_out[word];
                block.live_in[word] = in;
                block.live_out[word] = out;
            }
        }
        return changed;
    }

    void extend(const BasicBlock &block) {
        for (uint32_t i = block.begin; i < block.end; ++i) {
            for (uint32_t u = program.code[i].first; u < uses_end(i); ++u)
                lifetimes[program.uses[u].slot].add(i);
        }
        for (size_t word = 0; word < words; ++word) {
            for (uint64_t rest = block.live_in[word]; rest != 0; rest &= rest - 1) {
                lifetimes[word * 64 + static_cast<size_t>(__builtin_ctzll(rest))].add(block.begin);
            }
            for (uint64_t rest = block.live_out[word]; rest != 0; rest &= rest - 1) {
                lifetimes[word * 64 + static_cast<size_t>(__builtin_ctzll(rest))].add(block.end - 1);
            }
        }
    }
};

/** Rows handed out in the order in which lifetimes begin. */
class RowAllocator {
public:
    explicit RowAllocator(Program &program) : program(program) {}

    void run() {
        place_constants();
        place(Slot::Origin::special);
        place(Slot::Origin::sink);
        if (program.shares_registers) {
            place_by_lifetime();
        } else {
            place(Slot::Origin::reg);
        }
    }

private:
    Program &program;
    std::vector<uint32_t> free_rows[3];

    uint32_t take(Width width) {
        const uint32_t bytes = row_bytes[static_cast<int>(width)];
        const uint32_t offset = width == Width::predicate ? program.register_bytes : (program.register_bytes + 127) / 128 * 128;
        program.register_bytes = offset + bytes;
        return offset;
    }

    void place(Slot::Origin origin) {
        for (const Width width : {Width::wide, Width::narrow, Width::predicate}) {
            for (Slot &slot : program.slots) {
                if (slot.origin == origin && slot.width == width) slot.offset = take(width);
            }
        }
    }

    void place_constants() {
        place(Slot::Origin::constant);
        program.constants.resize(program.register_bytes);
        for (const Slot &slot : program.slots) {
            if (slot.origin != Slot::Origin::constant) continue;
            const uint32_t size = slot.width == Width::wide ? 8 : 4;
            for (uint32_t at = 0; at < row_bytes[static_cast<int>(slot.width)]; at += size) {
                std::memcpy(&program.constants[slot.offset + at], &slot.bits, size);
            }
        }
    }

    void place_by_lifetime() {
        const std::vector<Lifetime> lifetimes = Liveness(program).find();
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < program.slots.size(); ++i) {
            if (program.slots[i].origin == Slot::Origin::reg && lifetimes[i].begin != ~0u) order.push_back(i);
        }
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return lifetimes[a].begin < lifetimes[b].begin; });
        using End = std::pair<uint32_t, uint32_t>; // of a lifetime, and whose
        std::priority_queue<End, std::vector<End>, std::greater<End>> ends;
        for (const uint32_t i : order) {
            for (; !ends.empty() && ends.top().first < lifetimes[i].begin; ends.pop()) {
                const Slot &over = program.slots[ends.top().second];
                free_rows[static_cast<int>(over.width)].push_back(over.offset);
            }
            Slot &slot = program.slots[i];
            const uint32_t end = slot.keeps_row ? ~0u : lifetimes[i].end;
            auto &rows = free_rows[static_cast<int>(slot.width)];
            slot.offset = rows.empty() ? take(slot.width) : rows.back();
            if (!rows.empty()) rows.pop_back();
            ends.push({end, i});
        }
    }
};

} // namespace

void allocate_registers(Program &program) {
    RowAllocator(program).run();
    program.register_bytes = (program.register_bytes + 127) / 128 * 128;
    for (const Use &use : program.uses)
        program.rows.push_back(program.slots[use.slot].offset);
    for (Instruction &x : program.code) {
        x.rows = program.rows.data() + x.first;
        if (x.guard != no_guard) x.guard = program.slots[x.guard].offset;
    }
}

} // namespace attune::emulator
