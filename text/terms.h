// The terms of the mask language: one row each. The parser and its messages follow from this table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mask.h"

namespace attune::text {

struct TermRule {
    const char *name;
    MaskKind kind;
    size_t number_count;
    const char *number_names[2];
    int64_t least; // smallest value of a number
    bool takes_alignment;
    const char *usage;
};

const TermRule *find_term(std::string_view name);
const TermRule *find_term(MaskKind kind);

/** "none, causal, window, prefix": for messages. */
std::string known_terms();

/** Sets `alignment` and returns true if `name` is one. */
bool find_alignment(std::string_view name, Alignment &alignment);

} // namespace attune::text
