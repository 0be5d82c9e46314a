// The state of a warp, and loops over its lanes.
#pragma once

#include <cstdint>
#include <cstring>

#include "../error.h"
#include "copies.h"
#include "group_products.h"
#include "halves.h"
#include "program.h"

namespace attune::emulator {

class Block;

inline constexpr uint32_t warp_size = 32;
inline constexpr uint32_t all_lanes = ~0u;

/** Lanes that wait at another instruction than the one that runs. */
struct Fragment {
    uint32_t pc, lanes;
};

struct Warp {
    Block *block = nullptr;
    uint8_t *registers = nullptr;
    uint32_t exec = 0;   // the lanes that execute the present instruction
    uint32_t active = 0; // the lanes that are at it, whatever its guard says
    uint32_t lanes = 0;  // the lanes that exist
    uint32_t pc = 0;
    uint32_t index = 0; // in the block
    uint32_t carry = 0; // a bit a lane
    uint64_t executed = 0;
    std::vector<Fragment> waiting; // sorted, the lowest pc last
    Fragment held{0, 0};           // lanes at a barrier, until the others come to it
    AsyncCopies copies;
    GroupProducts products;
    // Kept only where reads of unwritten registers are looked for. What all lanes have executed once reads nothing unwritten ever after.
    std::vector<uint32_t> defined;     // lanes by slot
    std::vector<uint8_t> all_executed; // by pc: whether all lanes have, together

    template <class T> T *row(uint32_t offset) { return reinterpret_cast<T *>(registers + offset); }
    uint32_t &mask(uint32_t offset) { return *row<uint32_t>(offset); }
};

/** Calls f(lane) for every lane of a mask. The calls must not depend on one another. */
template <class F> inline void each_lane(uint32_t exec, F f) {
    if (exec == all_lanes) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (uint32_t lane = 0; lane < warp_size; ++lane)
            f(lane);
    } else {
        for (uint32_t rest = exec; rest != 0; rest &= rest - 1)
            f(static_cast<uint32_t>(__builtin_ctz(rest)));
    }
}

/** Sets the bits of `exec` in a mask to those of `value`. */
inline void blend(uint32_t &mask, uint32_t exec, uint32_t value) { mask = (mask & ~exec) | (value & exec); }

/** Refuses a warp operation that not all lanes of the warp execute. */
inline void require_converged(const Warp &w, uint32_t lanes) {
    if (w.exec != lanes) throw launch_error("a warp operation needs all its lanes at once, the warp is divergent");
}

// Marks of types whose values aren't C++ ones.
struct Half {};
struct Brain {};

/** A row seen as values of a type. */
template <class T> struct Row {
    using Value = T;
    T *row;
    Row(Warp &w, uint32_t offset) : row(w.row<T>(offset)) {}
    T get(uint32_t lane) const { return row[lane]; }
    void set(uint32_t lane, T value) const { row[lane] = value; }
};

template <class T> struct SmallRow {
    using Value = T;
    uint32_t *row;
    SmallRow(Warp &w, uint32_t offset) : row(w.row<uint32_t>(offset)) {}
    T get(uint32_t lane) const { return static_cast<T>(row[lane]); }
    void set(uint32_t lane, T value) const { row[lane] = static_cast<std::make_unsigned_t<T>>(value); }
};
template <> struct Row<uint8_t> : SmallRow<uint8_t> { using SmallRow::SmallRow; };
template <> struct Row<int8_t> : SmallRow<int8_t> { using SmallRow::SmallRow; };
template <> struct Row<uint16_t> : SmallRow<uint16_t> { using SmallRow::SmallRow; };
template <> struct Row<int16_t> : SmallRow<int16_t> { using SmallRow::SmallRow; };

template <> struct Row<Half> {
    using Value = float;
    uint32_t *row;
    Row(Warp &w, uint32_t offset) : row(w.row<uint32_t>(offset)) {}
    float get(uint32_t lane) const { return float_of_half(static_cast<uint16_t>(row[lane])); }
    void set(uint32_t lane, double value) const { row[lane] = half_of(value); }
};
template <> struct Row<Brain> {
    using Value = float;
    uint32_t *row;
    Row(Warp &w, uint32_t offset) : row(w.row<uint32_t>(offset)) {}
    float get(uint32_t lane) const { return float_of_brain(static_cast<uint16_t>(row[lane])); }
    void set(uint32_t lane, double value) const { row[lane] = brain_of(value); }
};

template <class D, class Op> void unary(Warp &w, const Instruction &x) {
    const Row<D> d(w, x.rows[0]), a(w, x.rows[1]);
    each_lane(w.exec, [=](uint32_t lane) { d.set(lane, Op::apply(a.get(lane))); });
}

template <class D, class Op> void binary(Warp &w, const Instruction &x) {
    const Row<D> d(w, x.rows[0]), a(w, x.rows[1]), b(w, x.rows[2]);
    each_lane(w.exec, [=](uint32_t lane) { d.set(lane, Op::apply(a.get(lane), b.get(lane))); });
}

template <class D, class Op> void ternary(Warp &w, const Instruction &x) {
    const Row<D> d(w, x.rows[0]), a(w, x.rows[1]), b(w, x.rows[2]), c(w, x.rows[3]);
    each_lane(w.exec, [=](uint32_t lane) { d.set(lane, Op::apply(a.get(lane), b.get(lane), c.get(lane))); });
}

} // namespace attune::emulator
