// The warp operations that take several calls, and one-to-one replacements.
#pragma once

#include "body.h"

namespace attune::ptx {

/** A one-to-one replacement. In the text $0, $1, ... are the arguments, $r the result, $p and $q fresh predicates; an argument that is a
 * constant is loaded into a register first. */
struct SimpleOperation {
    const char *name;
    size_t arguments;
    const char *text;
};

/** nullptr: the name is none of them. */
const SimpleOperation *find_simple_operation(const std::string &name);
void replace_simple(Body &body, size_t call, const SimpleOperation &operation);

/** warp_mma_m16n8k16_TYPE(r, a0..a3, b0, b1, ...): the four calls that begin at `first`, with the sums that they go to, become one
 * mma.sync at the place of the last sum. Further arguments only served Halide's bounds inference. */
void replace_mma(Body &body, size_t first);

/** warp_ldmatrix_x4(r, word), where the word was loaded from the address that is meant: four calls become one ldmatrix. */
void replace_ldmatrix(Body &body, size_t first);

/** warp_wgmma_ss_m64nNk16_TYPE(i, a, b, swizzle, ...) and warp_wgmma_rs_m64nNk16_TYPE(i, a0, a1, a2, a3, b, swizzle, leading, ...), N / 2
 * calls each: all families of a straight run of instructions, each of which continues the sums of the one before, become one group of
 * wgmma.mma_async at the place of the first call, waited for at that of the last sum. Words a and b were loaded from where the matrices
 * begin in shared memory: A by rows, B by columns or, where `leading` is given, by rows, in lines of `swizzle` bytes (see MatrixLayout).
 * Further arguments only served Halide's bounds inference. */
void replace_wgmma(Body &body, size_t first);

/** Erases loads from shared memory whose words nobody reads: those that only said an address. */
void drop_address_loads(Body &body);

} // namespace attune::ptx
