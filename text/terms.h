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
    size_t required_numbers, number_count; // the others may be left out
    const char *number_names[2];
    int64_t least; // smallest value of a number
    bool takes_alignment;
    const char *usage;

    bool takes_nothing() const { return number_count == 0 && !takes_alignment; }
};

const TermRule *find_term(std::string_view name);
const TermRule *find_term(MaskKind kind);

/** "none, causal, window, prefix": for messages. */
std::string known_terms();

/** Sets `alignment` and returns true if `name` is one. */
bool find_alignment(std::string_view name, Alignment &alignment);

/** "top_left, bottom_right": for messages. */
std::string known_alignments();

} // namespace attune::text
