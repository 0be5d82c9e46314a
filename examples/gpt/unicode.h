// As much of Unicode as tokenizers look at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

enum class CharClass { letter, number, space, other }; // \p{L}, \p{N}, \s

/** A character of a text: bytes [begin, begin + size). */
struct Character {
    uint32_t code_point;
    size_t begin;
    size_t size;
    CharClass kind;
};

/** The characters of UTF-8. A byte that begins none is one of its own, U+FFFD, of size 1: so every text has its bytes in the result once.
 */
std::vector<Character> characters_of(std::string_view text);

CharClass class_of(uint32_t code_point);

void append_utf8(std::string &text, uint32_t code_point);

} // namespace gpt
