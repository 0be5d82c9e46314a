#include "lexer.h"

#include "error.h"

namespace attune::ptx {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool begins_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool is_sign(char c) { return std::string_view("{}()[],;:<>@!+-=|").find(c) != std::string_view::npos; }

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        do {
            skip_blanks();
            tokens.push_back(next());
        } while (tokens.back().kind != TokenKind::end);
        return tokens;
    }

private:
    bool at(std::string_view s) const { return text_.compare(at_, s.size(), s) == 0; }

    void skip_blanks() {
        while (at_ < text_.size()) {
            if (at("//"))
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (at("/*"))
                skip_comment();
            else if (text_[at_] == '\n' || text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')
                line_ += text_[at_++] == '\n';
            else
                return;
        }
    }

    void skip_comment() {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) fail("the comment has no end");
        for (; at_ < end + 2; ++at_)
            line_ += text_[at_] == '\n';
    }

    size_t end_of_word() const {
        size_t end = at_ + 1;
        while (end < text_.size()) {
            if (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '_' || text_[end] == '$' || text_[end] == '.')
                ++end;
            else if (text_.compare(end, 2, "::") == 0) // "shared::cta"
                end += 2;
            else
                break;
        }
        return end;
    }

    Token next() {
        if (at_ == text_.size()) return {TokenKind::end, "the end", line_};
        const char first = text_[at_];
        if (begins_word(first)) return take(TokenKind::word, end_of_word());
        if (is_digit(first)) return take(TokenKind::number, end_of_word());
        if (is_sign(first)) return take(TokenKind::sign, at_ + 1);
        if (first != '"') fail(std::string("unknown character '") + first + "'");
        const size_t end = text_.find('"', at_ + 1);
        if (end == std::string_view::npos) fail("the string has no end");
        ++at_;
        Token token = take(TokenKind::string, end);
        ++at_;
        return token;
    }

    Token take(TokenKind kind, size_t end) {
        Token token{kind, std::string(text_.substr(at_, end - at_)), line_};
        at_ = end;
        return token;
    }

    [[noreturn]] void fail(const std::string &sentence) const { throw Error(sentence, line_, line_of(text_, line_)); }

    std::string_view text_;
    size_t at_ = 0;
    int line_ = 1;
};

} // namespace

std::vector<Token> tokens_of(std::string_view text) { return Lexer(text).run(); }

std::string line_of(std::string_view text, int line) {
    size_t begin = 0;
    for (int i = 1; i < line && begin < text.size(); ++i)
        begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string_view found = text.substr(begin, text.find('\n', begin) - begin);
    const size_t first = found.find_first_not_of(" \t\r"), last = found.find_last_not_of(" \t\r");
    return first == std::string_view::npos ? "" : std::string(found.substr(first, last - first + 1));
}

} // namespace attune::ptx
