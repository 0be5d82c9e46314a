// PTX text as words, numbers and punctuation.
#pragma once

#include <string>
#include <vector>

namespace attune::emulator {

/** A word (names, opcodes with their dots, numbers), a quoted string, or one character of punctuation. */
struct Token {
    std::string text;
    int line = 0; // from 1
    bool is_word = false;
};

/** Splits PTX into tokens without comments. Throws Error where a comment or a string has no end. */
std::vector<Token> tokenise(const std::string &ptx);

} // namespace attune::emulator
