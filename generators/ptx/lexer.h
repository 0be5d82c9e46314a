// The words and signs of PTX text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attune::ptx {

enum class TokenKind {
    word,   // opcodes, directives, registers and names, with their dots: "ld.global.b32", ".reg", "%tid.x", "$L__BB0_1"
    number, // "12", "0x1F", "0f3F800000", "1U"
    string, // "nounroll", without the quotes
    sign,   // one of { } ( ) [ ] , ; : < > @ ! + - = |
    end
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string text;
    int line = 0; // from 1
};

/** All tokens of the text, the last of which is an end. Comments are passed over. Throws Error. */
std::vector<Token> tokens_of(std::string_view text);

/** Line number `line` (from 1), without the blanks around it. */
std::string line_of(std::string_view text, int line);

} // namespace attune::ptx
