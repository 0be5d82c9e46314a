// cp.async: the destination holds NaN from the copy's issue until its group is waited for, so that code that does not wait is found out.
#include "block.h"
#include "operations.h"

namespace attune::emulator {
namespace {

// Flags of the instruction.
constexpr uint32_t wide_destination = 1, has_size = 2, has_ignore = 4;

/** Bytes that each lane reads. */
void read_sizes(Warp &w, const Instruction &x, uint32_t *sizes) {
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        sizes[lane] = x.bytes;
        if (x.flags & has_size) sizes[lane] = w.row<uint32_t>(x.rows[2])[lane];
        if (x.flags & has_ignore) sizes[lane] = (w.mask(x.rows[2]) >> lane & 1) != 0 ? 0 : x.bytes;
        if ((w.exec >> lane & 1) != 0 && sizes[lane] > x.bytes) throw launch_error("a copy's source is larger than its destination");
    }
}

/** The places of sources, for lanes that read anything. Lanes of one size are checked at a time. */
void find_sources(Warp &w, const Instruction &x, const uint32_t *sizes, Places &sources) {
    const uint32_t exec = w.exec;
    uint32_t rest = exec;
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        if (sizes[lane] == 0) rest &= ~(1u << lane);
    }
    while (rest != 0) {
        const uint32_t size = sizes[__builtin_ctz(rest)];
        uint32_t same = 0;
        for (uint32_t lane = 0; lane < warp_size; ++lane)
            same |= static_cast<uint32_t>(sizes[lane] == size) << lane;
        w.exec = rest & same;
        Places found;
        w.block->resolve(w, x, 1, size, x.bytes, Access::read, found);
        each_lane(w.exec, [&](uint32_t lane) { sources.at[lane] = found.at[lane]; });
        rest &= ~same;
    }
    w.exec = exec;
}

void copy(Warp &w, const Instruction &x) {
    uint32_t sizes[warp_size];
    read_sizes(w, x, sizes);
    Places sources{}, destinations;
    find_sources(w, x, sizes, sources);
    Instruction to = x;
    to.space = Space::shared;
    to.immediate = static_cast<int32_t>(x.target);
    to.wide_address = (x.flags & wide_destination) != 0;
    w.block->resolve(w, to, 0, x.bytes, x.bytes, Access::write, destinations);
    for (uint32_t rest = w.exec; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        std::memset(destinations.at[lane], 0xff, x.bytes);
        w.copies.open.push_back({destinations.at[lane], sources.at[lane], x.bytes, sizes[lane]});
    }
}

void commit(Warp &w, const Instruction &) {
    require_converged(w, w.lanes);
    w.copies.groups.push_back(std::move(w.copies.open));
    w.copies.open.clear();
}

void arrive_copies(Warp &w, const std::vector<Copy> &copies) {
    for (const Copy &copy : copies) {
        w.block->note_shared(w, copy.to, copy.bytes, Access::write);
        if (copy.read != 0) std::memcpy(copy.to, copy.from, copy.read);
        std::memset(copy.to + copy.read, 0, copy.bytes - copy.read);
    }
}

void wait(Warp &w, const Instruction &x) {
    require_converged(w, w.lanes);
    auto &groups = w.copies.groups;
    while (groups.size() > static_cast<uint64_t>(x.immediate)) {
        arrive_copies(w, groups.front());
        groups.pop_front();
    }
}

void wait_all(Warp &w, const Instruction &x) {
    commit(w, x);
    wait(w, x);
}

void decode_copy(Decoder &d) {
    const bool first_level = d.has("ca");
    if (!first_level && !d.has("cg")) d.refuse("only copies of 4, 8 or 16 bytes by each thread are known");
    if (d.one_of({"shared", "shared::cta"}) < 0 || !d.has("global")) d.refuse();
    d.has("shared::cta");
    d.ignore_beginning("L2::128B");
    d.ignore_beginning("L2::256B");
    d.ignore_beginning("L2::64B");
    const uint64_t bytes = d.immediate(2);
    if (bytes != 16 && !(first_level && (bytes == 4 || bytes == 8))) d.refuse("the size of a copy must be 16, or with .ca 4 or 8");
    d.out.bytes = static_cast<uint8_t>(bytes);
    d.address(0);
    d.out.target = static_cast<uint32_t>(d.out.immediate);
    d.out.flags = d.out.wide_address ? wide_destination : 0;
    d.address(1);
    d.out.space = Space::global;
    if (d.operands() > 4) d.refuse();
    if (d.operands() == 4) {
        const bool ignore = d.operand(3).form == Operand::Form::reg && d.register_bits(d.operand(3)) == 1;
        d.out.flags |= ignore ? has_ignore : has_size;
        d.source(3, ignore ? predicate_type : b32);
    }
    d.out.run = copy;
}

void decode_async(Decoder &d) {
    if (!d.has("async")) d.refuse();
    if (d.has("commit_group")) {
        d.out.run = commit;
    } else if (d.has("wait_group")) {
        d.out.immediate = static_cast<int64_t>(d.immediate(0));
        d.out.run = wait;
    } else if (d.has("wait_all")) {
        d.out.run = wait_all;
    } else {
        decode_copy(d);
    }
}

} // namespace

void add_copy_opcodes(DecodeTable &table) { table["cp"] = decode_async; }

} // namespace attune::emulator
