// Reads PTX text.
#pragma once

#include <string>

#include "module.h"

namespace attune::ptx {

/** The module that the text says. Throws Error where the text is outside the subset: nothing is passed over but comments, debug lines
 * (.file, .loc, .section) and stray semicolons. */
Module parse(const std::string &text);

/** One or more statements of a kernel's body, "add.f32 %f1, %f2, %f3; ...". `line` is what they say as theirs. */
std::vector<Instruction> parse_statements(const std::string &text, int line);

} // namespace attune::ptx
