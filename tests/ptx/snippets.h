// PTX for tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "generators/ptx/error.h"
#include "generators/ptx/rewrite.h"

namespace attune::ptx {

/** A module with one kernel k(.param .u64 p, .param .u32 n) around the body, with %r<200>, %rd<100> and %p<20> declared. */
std::string kernel(const std::string &body);

/** The call sequence "result = function(arguments)", all of 32 bits. */
std::string call(const std::string &result, const std::string &function, const std::vector<std::string> &arguments);

/** The four calls of one mma with the sums they go to: %r<sum + r> = %r<addend + r> + product r. */
std::string mma(int sum, int addend, const std::string &function = "warp_mma_m16n8k16_bf16");

/** What rewrite makes of the kernel, the lines between its declarations and its closing brace. Blanks at line ends and beginnings are
 * taken away. */
std::string rewritten(const std::string &body, const RewriteOptions &options = {});

/** How many lines contain `text`. */
int lines_with(const std::string &text, const std::string &all);

/** Where `of` stands in the text, from a place on. Expects it there. */
size_t place(const std::string &text, const std::string &of, size_t from = 0);

/** Expects rewrite to refuse the kernel with a message that contains all of `parts`. */
void expect_refused(const std::string &body, const std::vector<std::string> &parts, const RewriteOptions &options = {});

} // namespace attune::ptx
