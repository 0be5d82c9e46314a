// Operations between the lanes of a warp: shfl vote activemask redux elect match.
#include <algorithm>

#include "operations.h"

namespace attune::emulator {
namespace {

/** The lanes that an operation names must be those that execute it. */
void require_members(const Warp &w, uint32_t members) {
    if ((members & w.exec) != w.exec) throw launch_error("a lane executes a warp operation whose mask does not name it");
    require_converged(w, members & w.lanes);
}
uint32_t members_of(Warp &w, uint32_t row) { return w.row<uint32_t>(row)[__builtin_ctz(w.exec)]; }

enum ShuffleMode { from_below, from_above, butterfly, indexed };

/** Rows: destination, predicate, a, b, c, members. */
template <int Mode> void shuffle(Warp &w, const Instruction &x) {
    require_members(w, members_of(w, x.rows[5]));
    uint32_t a[warp_size], *d = w.row<uint32_t>(x.rows[0]);
    const uint32_t *b = w.row<uint32_t>(x.rows[3]), *c = w.row<uint32_t>(x.rows[4]);
    std::memcpy(a, w.row<uint32_t>(x.rows[2]), sizeof a);
    uint32_t from[warp_size], inside = 0;
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const uint32_t by = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
        const uint32_t first = lane & segment;
        const auto last = static_cast<int>(first | (clamp & ~segment));
        const auto source = static_cast<int>(Mode == from_below   ? lane - by
                                             : Mode == from_above ? lane + by
                                             : Mode == butterfly  ? lane ^ by
                                                                  : first | (by & ~segment));
        const bool valid = Mode == from_below ? source >= last : source <= last;
        from[lane] = valid ? static_cast<uint32_t>(source) & 31 : lane;
        inside |= static_cast<uint32_t>(valid) << lane;
    }
    if (w.exec != all_lanes) {
        for (uint32_t lane = 0; lane < warp_size; ++lane) {
            if ((w.exec >> lane & 1) != 0 && (w.exec >> from[lane] & 1) == 0)
                throw launch_error("it reads from a lane that does not take part");
        }
    }
    each_lane(w.exec, [&](uint32_t lane) { d[lane] = a[from[lane]]; });
    blend(w.mask(x.rows[1]), w.exec, inside);
}

void decode_shuffle(Decoder &d) {
    static const Handler handlers[] = {shuffle<from_below>, shuffle<from_above>, shuffle<butterfly>, shuffle<indexed>};
    const int mode = d.one_of({"up", "down", "bfly", "idx"});
    if (!d.has("sync") || mode < 0 || d.operands() != 5) d.refuse();
    Operand first = d.operand(0);
    d.write(first, d.type(), false);
    d.write_second(first);
    for (size_t i = 1; i < 5; ++i)
        d.source(i, i == 1 ? d.type() : b32);
    d.out.run = handlers[mode];
}

/** Rows: destination, source, members. */
template <int Mode> void vote(Warp &w, const Instruction &x) {
    require_members(w, members_of(w, x.rows[2]));
    const uint32_t votes = (w.mask(x.rows[1]) ^ (x.flags != 0 ? all_lanes : 0)) & w.exec;
    const bool result = Mode == 0 ? votes == w.exec : Mode == 1 ? votes != 0 : votes == 0 || votes == w.exec;
    blend(w.mask(x.rows[0]), w.exec, result ? all_lanes : 0);
}
void ballot(Warp &w, const Instruction &x) {
    require_members(w, members_of(w, x.rows[2]));
    const uint32_t votes = (w.mask(x.rows[1]) ^ (x.flags != 0 ? all_lanes : 0)) & w.exec;
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = votes; });
}
void decode_vote(Decoder &d) {
    const int mode = d.one_of({"all", "any", "uni", "ballot"});
    if (!d.has("sync") || mode < 0 || d.operands() != 3) d.refuse();
    d.dest(0, mode == 3 ? b32 : predicate_type);
    d.type();
    Operand source = d.operand(1);
    d.out.flags = source.negated ? 1 : 0;
    source.negated = false;
    d.read(source, predicate_type);
    d.source(2, b32);
    static const Handler handlers[] = {vote<0>, vote<1>, vote<2>, ballot};
    d.out.run = handlers[mode];
}

void active_mask(Warp &w, const Instruction &x) {
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    each_lane(w.exec, [&](uint32_t lane) { d[lane] = w.exec; });
}
void decode_active_mask(Decoder &d) {
    d.dest(0, d.type());
    d.out.run = active_mask;
}

enum Reduction { add, minimum, maximum, bit_and, bit_or, bit_xor };

template <class T, int R> void reduce(Warp &w, const Instruction &x) {
    require_members(w, members_of(w, x.rows[2]));
    const T *a = w.row<T>(x.rows[1]);
    T result = a[__builtin_ctz(w.exec)];
    for (uint32_t rest = w.exec & (w.exec - 1); rest != 0; rest &= rest - 1) {
        const T value = a[__builtin_ctz(rest)];
        result = R == add       ? result + value
                 : R == minimum ? std::min(result, value)
                 : R == maximum ? std::max(result, value)
                 : R == bit_and ? result & value
                 : R == bit_or  ? result | value
                                : result ^ value;
    }
    T *d = w.row<T>(x.rows[0]);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = result; });
}
void decode_reduce(Decoder &d) {
    static const Handler handlers[][2] = {{reduce<uint32_t, add>, reduce<int32_t, add>},
                                          {reduce<uint32_t, minimum>, reduce<int32_t, minimum>},
                                          {reduce<uint32_t, maximum>, reduce<int32_t, maximum>},
                                          {reduce<uint32_t, bit_and>, nullptr},
                                          {reduce<uint32_t, bit_or>, nullptr},
                                          {reduce<uint32_t, bit_xor>, nullptr}};
    const int operation = d.one_of({"add", "min", "max", "and", "or", "xor"});
    const Type type = d.type();
    if (!d.has("sync") || operation < 0 || !type.is_integer() || type.bits != 32) d.refuse();
    d.dest(0, type);
    d.source(1, type);
    d.source(2, b32);
    d.out.run = handlers[operation][type.is_signed() ? 1 : 0];
    if (d.out.run == nullptr) d.refuse();
}

/** Rows: the elected lane, whether it is this one, members. */
void elect(Warp &w, const Instruction &x) {
    require_members(w, members_of(w, x.rows[2]));
    const auto leader = static_cast<uint32_t>(__builtin_ctz(w.exec));
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    each_lane(w.exec, [=](uint32_t lane) { d[lane] = leader; });
    blend(w.mask(x.rows[1]), w.exec, 1u << leader);
}
void decode_elect(Decoder &d) {
    if (!d.has("sync")) d.refuse();
    d.write(d.operand(0), b32, false);
    d.write_second(d.operand(0));
    d.source(1, b32);
    d.out.run = elect;
}

/** match.any: the lanes that hold the same value. */
template <class T> void match_any(Warp &w, const Instruction &x) {
    require_members(w, members_of(w, x.rows[2]));
    T a[warp_size];
    std::memcpy(a, w.row<T>(x.rows[1]), sizeof a);
    uint32_t *d = w.row<uint32_t>(x.rows[0]);
    for (uint32_t rest = w.exec; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        uint32_t same = 0;
        for (uint32_t other = 0; other < warp_size; ++other)
            same |= static_cast<uint32_t>(a[other] == a[lane]) << other;
        d[lane] = same & w.exec;
    }
}
void decode_match(Decoder &d) {
    if (!d.has("any") || !d.has("sync")) d.refuse();
    d.dest(0, b32);
    d.source(1, d.type());
    d.source(2, b32);
    d.out.run = d.type().bits == 64 ? match_any<uint64_t> : match_any<uint32_t>;
}

} // namespace

void add_warp_opcodes(DecodeTable &table) {
    table["shfl"] = decode_shuffle;
    table["vote"] = decode_vote;
    table["activemask"] = decode_active_mask;
    table["redux"] = decode_reduce;
    table["elect"] = decode_elect;
    table["match"] = decode_match;
}

} // namespace attune::emulator
