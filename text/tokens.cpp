#include "tokens.h"

#include <charconv>

namespace attune::text {

namespace {

// The C library's isalpha and its kin depend on the locale and on the sign of char.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_sign(char c) { return std::string_view("()!&|,=").find(c) != std::string_view::npos; }

size_t end_of_word(std::string_view text, size_t at) {
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at])))
        ++at;
    return at;
}

/** Takes "3.5", "1e-9" and "12ab" whole, so that the message can show them. */
size_t end_of_number(std::string_view text, size_t at) {
    const auto belongs = [&](char c) {
        const bool exponent = text[at - 1] == 'e' || text[at - 1] == 'E';
        return is_letter(c) || is_digit(c) || c == '.' || (exponent && (c == '-' || c == '+'));
    };
    while (at < text.size() && belongs(text[at]))
        ++at;
    return at;
}

/** What `number` is: integer, real, even one too large for a double, or bad. */
TokenKind kind_of_number(std::string_view number) {
    const std::string_view digits = number.substr(number[0] == '-' ? 1 : 0);
    if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) return TokenKind::integer;
    if (digits.empty() || is_letter(digits[0])) return TokenKind::bad; // "-inf" is no number here
    double value;
    const char *const end = number.data() + number.size();
    return std::from_chars(number.data(), end, value).ptr == end ? TokenKind::real : TokenKind::bad;
}

/** A character of several bytes (UTF-8) whole, so that a message which shows it is text. */
size_t end_of_character(std::string_view text, size_t at) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u)
        ++at;
    return at;
}

} // namespace

Token next_token(std::string_view text, size_t &position) {
    while (position < text.size() && is_space(text[position]))
        ++position;
    Token token;
    token.column = static_cast<int32_t>(position) + 1;
    if (position == text.size()) return token;

    const size_t begin = position;
    const char first = text[begin];
    if (is_letter(first)) {
        token.kind = TokenKind::word;
        position = end_of_word(text, begin);
    } else if (is_digit(first) || first == '-' || first == '.') {
        position = end_of_number(text, begin + 1);
        token.kind = kind_of_number(text.substr(begin, position - begin));
    } else {
        token.kind = is_sign(first) ? TokenKind::sign : TokenKind::bad;
        position = end_of_character(text, begin);
    }
    token.text = text.substr(begin, position - begin);
    return token;
}

} // namespace attune::text
