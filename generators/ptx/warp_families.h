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

/** warp_wgmma_m64nNk16_TYPE(i, a, b, ...), N / 2 calls each: all families of a straight run of instructions, each of which continues the
 * sums of the one before, become one group of wgmma.mma_async at the place of the last sum. */
void replace_wgmma(Body &body, size_t first);

/** Erases loads from shared memory whose words nobody reads: those that only said an address. */
void drop_address_loads(Body &body);

} // namespace attune::ptx
