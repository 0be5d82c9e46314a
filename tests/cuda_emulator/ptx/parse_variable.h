// Declarations of variables: [.align N] [.attribute] .type name [ "[" count "]" ] [ "=" initialiser ] { "," ... } ";"
#pragma once

#include <map>

#include "cursor.h"
#include "module.h"

namespace attune::emulator {

/** Reads what follows the state space, up to the semicolon, into `variables`. */
void parse_variables(Cursor &cursor, Space space, bool is_extern, std::map<std::string, Variable> &variables);

/** Whether a directive is a state space of variables; sets it. */
bool read_space(const std::string &directive, Space &space);

/** The bits of a number as written: an integer, 0f..., 0d..., or a decimal fraction (float_bits 64). */
uint64_t parse_number(Cursor &cursor, int &float_bits);

} // namespace attune::emulator
