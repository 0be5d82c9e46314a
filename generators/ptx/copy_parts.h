// The steps of make_copies_async, and of what comes after it.
#pragma once

#include "body.h"
#include "control_flow.h"

namespace attune::ptx {

bool is_copy(const Instruction &instruction);
/** A barrier of all threads of the block. */
bool is_barrier(const Instruction &instruction);
/** Reads or writes shared memory, or may, other than by an asynchronous copy. */
bool is_other_access(const Instruction &instruction);
bool writes_memory(const Instruction &instruction);
/** What barriers order, apart from copies. */
bool is_ordered(const Instruction &instruction);

/** Turns pairs of a load and a store into copies. Returns how many. */
int pair_copies(Kernel &kernel, int stages);

/** Erases barriers between copies, which order nothing that is read, and barriers after barriers. */
void merge_copy_barriers(Kernel &kernel);

/** Erases barriers between copies for later iterations of a loop and what this one reads, where the loop's other barrier can close them. */
void merge_early_barriers(Kernel &kernel, int stages);

/** Closes groups of copies at the barriers and waits for them; see copy_waits.cpp. */
void wait_for_copies(Kernel &kernel, int stages);

/** Moves copies from right before products by warpgroup to where these are under way; see delay_copies.cpp. */
void delay_copies(Kernel &kernel);

/** Where wgmma reads shared memory: fences between what was written and the barrier after which it is read. */
void fence_for_wgmma(Kernel &kernel);

/** By instruction: whether a barrier that comes next has `loop` as its innermost loop. */
std::vector<char> comes_before_barrier_of(const Body &body, const ControlFlow &flow, const Loop &loop);

/** Whether copy `copy`, of which `loop` is the innermost loop, runs in every iteration, or for each thread in every iteration or none: no
 * branch that decides on it depends on what changes from iteration to iteration. */
bool runs_in_every_iteration(const Body &body, const ControlFlow &flow, const Loop &loop, size_t copy);

/** Whether an address used at position `at` inside the loop depends on what earlier iterations of this loop computed. One that doesn't is
 * the same in every iteration, or runs through the same places. */
bool moves_with_loop(const Body &body, const ControlFlow &flow, const Loop &loop, const Operand &address, size_t at);

} // namespace attune::ptx
