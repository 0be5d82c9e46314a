// The command line of examples/gpt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator.h"

namespace gpt {

struct Arguments {
    std::string folder;
    std::vector<std::string> prompts;
    GenerationOptions generation;
    attune_type dtype = ATTUNE_F32;
    int32_t threads = 0; // every CPU
    bool help = false;
};

/** Throws an Error for words it doesn't know, and for numbers out of range. */
Arguments parse_arguments(int argc, const char *const *argv);

/** A whole number from `least` to `most`, or an Error that names the option. */
int64_t whole_number(std::string_view option, const std::string &value, int64_t least, int64_t most);

extern const char *const usage;

} // namespace gpt
