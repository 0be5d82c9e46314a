// Calls that differ in their element number only and together stand for one instruction.
#pragma once

#include <set>

#include "body.h"

namespace attune::ptx {

/** The calls of one family: f(0, x...), f(1, x...), ... in any order, in one straight run of instructions. */
struct Family {
    size_t first = 0;                 // position of the earliest
    std::vector<size_t> calls;        // position by element
    std::vector<std::string> results; // register by element
    std::vector<Operand> arguments;   // after the element number

    size_t size() const { return calls.size(); }
};

/** The family of `count` calls of which the one at `first` is the earliest. Throws Error where one is missing or comes twice. */
Family find_family(const Body &body, size_t first, size_t count);

/** One addition to a result: target = addend + result, or where the compiler contracted a product, target = x * y + result. */
struct Sum {
    size_t position = 0; // of the addition; the call's own where nobody wants the result
    std::string target;
    std::vector<Operand> addends; // one, or the two factors
    bool dead = false;
};

/** The one addition that element `r`'s result goes to. Throws Error if it goes elsewhere. */
Sum find_sum(const Body &body, const Family &family, size_t r);

/** Throws Error where an instruction between positions begin and end, outside `except`, writes one of the registers. */
void check_unchanged(const Body &body, const std::vector<std::string> &registers, size_t begin, size_t end,
                     const std::set<size_t> &except = {});

/** Registers in the operands. */
std::vector<std::string> registers_of(const std::vector<Operand> &operands);

/** The shared-memory address that the word `argument`, read at position `at`, was loaded from. Throws Error if it is not a word of shared
 * memory, or if that memory may change in between. */
Operand loaded_from(const Body &body, const Operand &argument, size_t at);

} // namespace attune::ptx
