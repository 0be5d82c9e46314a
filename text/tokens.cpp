#include "tokens.h"

namespace attune::text {

namespace {

// The C library's isalpha and its kin depend on the locale and on the sign of char.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_sign(char c) { return std::string_view("()!&|,").find(c) != std::string_view::npos; }

size_t end_of_word(std::string_view text, size_t at) {
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at])))
        ++at;
    return at;
}

/** Takes "3.5", "1e9" and "12ab" whole, so that the message can show them. */
size_t end_of_number(std::string_view text, size_t at) {
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '.'))
        ++at;
    return at;
}

bool is_integer(std::string_view number) {
    if (!number.empty() && number[0] == '-') number.remove_prefix(1);
    for (char c : number)
        if (!is_digit(c)) return false;
    return !number.empty();
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
    position = begin + 1;
    if (is_letter(first)) {
        token.kind = TokenKind::word;
        position = end_of_word(text, begin);
    } else if (is_digit(first) || first == '-' || first == '.') {
        position = end_of_number(text, begin + 1);
        token.kind = is_integer(text.substr(begin, position - begin)) ? TokenKind::integer : TokenKind::bad;
    } else {
        token.kind = is_sign(first) ? TokenKind::sign : TokenKind::bad;
    }
    token.text = text.substr(begin, position - begin);
    return token;
}

} // namespace attune::text
