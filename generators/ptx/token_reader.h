// A base of the parser: the tokens one by one, and the error that shows the line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lexer.h"

namespace attune::ptx {

class TokenReader {
protected:
    explicit TokenReader(std::string_view text) : text_(text), tokens_(tokens_of(text)) {}

    const Token &peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
    Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
    bool is_end() const { return peek().kind == TokenKind::end; }
    /** Whether the token at hand is this sign or word. */
    bool at(std::string_view sign) const { return peek().kind != TokenKind::string && peek().text == sign && !is_end(); }
    bool at_word() const { return peek().kind == TokenKind::word; }
    /** Passes over the sign or word, if it is at hand. */
    bool skip(std::string_view sign);
    void expect(std::string_view sign, const char *where);
    std::string take_word(const char *what);
    /** A decimal or hexadecimal integer, with its sign. */
    int64_t take_integer(const char *what);
    /** The words and signs up to one of `ends`, which stays, as text. Nested brackets are taken whole. */
    std::string take_until(std::string_view ends, const char *what);
    /** All tokens of the line at hand. */
    void skip_line();

    /** Refuses the token at hand. */
    [[noreturn]] void fail(const std::string &sentence) const { fail_at(peek().line, sentence); }
    [[noreturn]] void fail_at(int line, const std::string &sentence) const;
    /** "'ld.b32'" or "the end". */
    std::string shown() const;

private:
    std::string_view text_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
};

} // namespace attune::ptx
