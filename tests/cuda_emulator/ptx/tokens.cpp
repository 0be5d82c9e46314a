#include "tokens.h"

#include <cctype>

#include "../error.h"

namespace attune::emulator {
namespace {

class Scanner {
public:
    explicit Scanner(const std::string &text) : text(text) {}

    std::vector<Token> scan() {
        while (at < text.size()) {
            if (!skip_blank() && !skip_comment()) tokens.push_back(next());
        }
        return std::move(tokens);
    }

private:
    const std::string &text;
    size_t at = 0;
    int line = 1;
    std::vector<Token> tokens;

    char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

    bool skip_blank() {
        if (!std::isspace(static_cast<unsigned char>(peek())) && peek() != '\0') return false;
        line += text[at++] == '\n';
        return true;
    }

    bool skip_comment() {
        if (peek() != '/' || (peek(1) != '/' && peek(1) != '*')) return false;
        const bool long_comment = peek(1) == '*';
        const size_t end = text.find(long_comment ? "*/" : "\n", at + 2);
        if (end == std::string::npos && long_comment) {
            throw Error(Status::invalid_ptx, "PTX line " + std::to_string(line) + ": the comment has no end");
        }
        const size_t stop = end == std::string::npos ? text.size() : end + (long_comment ? 2 : 0);
        for (; at < stop; ++at)
            line += text[at] == '\n';
        return true;
    }

    bool is_word_part() const {
        const char c = peek();
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '%';
    }

    Token next() {
        Token token{"", line, false};
        if (peek() == '"') {
            const size_t end = text.find('"', at + 1);
            if (end == std::string::npos) throw Error(Status::invalid_ptx, "PTX line " + std::to_string(line) + ": the string has no end");
            token.text = text.substr(at, end + 1 - at);
            at = end + 1;
            return token;
        }
        while (is_word_part() || (!token.text.empty() && peek() == ':' && peek(1) == ':')) {
            token.is_word = true;
            const size_t count = peek() == ':' ? 2 : 1;
            token.text.append(text, at, count);
            at += count;
        }
        if (!token.is_word) token.text = text[at++];
        return token;
    }
};

} // namespace

std::vector<Token> tokenise(const std::string &ptx) { return Scanner(ptx).scan(); }

} // namespace attune::emulator
