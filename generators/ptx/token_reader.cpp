#include "token_reader.h"

#include <cerrno>
#include <cstdlib>

#include "error.h"

namespace attune::ptx {

bool TokenReader::skip(std::string_view sign) {
    if (!at(sign)) return false;
    take();
    return true;
}

void TokenReader::expect(std::string_view sign, const char *where) {
    if (!skip(sign)) fail("expected '" + std::string(sign) + "' " + where + ", found " + shown());
}

std::string TokenReader::take_word(const char *what) {
    if (!at_word()) fail(std::string("expected ") + what + ", found " + shown());
    return take().text;
}

int64_t TokenReader::take_integer(const char *what) {
    const bool negative = skip("-");
    if (peek().kind != TokenKind::number) fail(std::string("expected ") + what + ", found " + shown());
    const std::string &text = peek().text;
    char *end;
    errno = 0;
    const int64_t value = std::strtoll(text.c_str(), &end, 0);
    if (errno || (*end != '\0' && std::string_view(end) != "U")) fail(std::string("expected ") + what + ", found " + shown());
    take();
    return negative ? -value : value;
}

std::string TokenReader::take_until(std::string_view ends, const char *what) {
    std::string text;
    int depth = 0;
    while (!is_end() && (depth > 0 || ends.find(peek().text) == std::string_view::npos)) {
        if (at("{") || at("[") || at("(")) ++depth;
        if (at("}") || at("]") || at(")")) --depth;
        text += (text.empty() ? "" : " ") + take().text;
    }
    if (is_end()) fail(std::string("the end comes inside ") + what);
    return text;
}

void TokenReader::skip_line() {
    const int line = peek().line;
    while (!is_end() && peek().line == line)
        take();
}

void TokenReader::fail_at(int line, const std::string &sentence) const { throw Error(sentence, line, line_of(text_, line)); }

std::string TokenReader::shown() const { return is_end() ? "the end" : "'" + peek().text + "'"; }

} // namespace attune::ptx
