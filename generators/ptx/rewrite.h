// The pass over a module's PTX, from Halide's text to what ptxas gets.
#pragma once

#include <map>
#include <string>

#include "error.h"

namespace attune::ptx {

struct RewriteOptions {
    std::string version = "8.0"; // of PTX
    std::string arch = "sm_80";
    /** The schedule's promise on copies inside a loop: what iteration i copies is read, and its memory written again, from iteration
     *  i + stages - 1 on. 1: it may be read right after the next barrier. */
    int stages = 1;
    bool async_copies = true;           // copies of 16 bytes from global to shared memory become cp.async, from sm_80 on
    std::map<std::string, int> threads; // threads of a block by kernel; a kernel that isn't named gets no .maxntid
    // How many blocks a multiprocessor must have registers for, where `threads` names the kernel. With one, copies wait for products to
    // begin.
    int blocks_per_sm = 1;
    int threads_per_sm = 0; // or how many blocks together have so many threads, where that is more
};

/** The text with warp operations as instructions, asynchronous copies, shared memory relative to attune_shared, and the header for the
 * target. Throws Error. */
std::string rewrite(const std::string &ptx, const RewriteOptions &options);

} // namespace attune::ptx
