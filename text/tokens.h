// Cuts a mask's text into words, integers and signs.
#pragma once

#include <cstdint>
#include <string_view>

namespace attune::text {

enum class TokenKind { word, integer, sign, end, bad };

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;
    int32_t column = 1; // from 1

    bool is(char sign) const { return kind == TokenKind::sign && text[0] == sign; }
};

/** The token that begins at or after `position`, which is moved past it. `bad` is a character or a number the language lacks. */
Token next_token(std::string_view text, size_t &position);

} // namespace attune::text
