// Cuts a text into words, numbers and signs.
#pragma once

#include <cstdint>
#include <string_view>

namespace attune::text {

enum class TokenKind { word, integer, real, sign, end, bad };

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;
    int32_t column = 1; // from 1

    bool is(char sign) const { return kind == TokenKind::sign && text[0] == sign; }
    bool is(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

/** The token that begins at or after `position`, which is moved past it. `real` is a number with a point or an exponent, `bad` a character
 * or a number that no language here has. */
Token next_token(std::string_view text, size_t &position);

} // namespace attune::text
