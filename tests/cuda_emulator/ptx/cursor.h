// A place in the tokens of a PTX module, with the steps that all parts of the parser take.
#pragma once

#include <string>
#include <vector>

#include "../error.h"
#include "tokens.h"

namespace attune::emulator {

class Cursor {
public:
    explicit Cursor(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

    bool at_end() const { return at >= tokens.size(); }
    int line() const { return at_end() ? (tokens.empty() ? 0 : tokens.back().line) : tokens[at].line; }
    const std::string &peek(size_t ahead = 0) const { return at + ahead < tokens.size() ? tokens[at + ahead].text : empty; }
    bool at_word() const { return !at_end() && tokens[at].is_word; }

    const Token &take() {
        if (at_end()) throw error("the text ends too early");
        return tokens[at++];
    }
    bool take_if(const std::string &text) {
        const bool found = peek() == text;
        at += found;
        return found;
    }
    void expect(const std::string &text) {
        if (!take_if(text)) throw error("expected \"" + text + "\", found \"" + peek() + "\"");
    }
    uint64_t take_number() {
        const std::string word = take().text;
        try {
            return std::stoull(word, nullptr, 0);
        } catch (const std::exception &) {
            throw error("expected a number, found \"" + word + "\"");
        }
    }
    void skip_line() {
        for (const int start = line(); !at_end() && line() == start; ++at) {
        }
    }
    /** Past the closing one of the braces that open next. */
    void skip_braces() {
        expect("{");
        for (int depth = 1; depth > 0;) {
            const std::string &text = take().text;
            depth += (text == "{") - (text == "}");
        }
    }
    void skip_past(const std::string &text) {
        while (take().text != text) {
        }
    }
    /** The tokens from `from` up to here, as a text to show. */
    std::string text_since(size_t from) const {
        std::string text;
        for (size_t i = from; i < at; ++i) {
            const bool tight = tokens[i].text == "," || tokens[i].text == ";" || (i > from && tokens[i - 1].text == "@");
            text += (i == from || tight ? "" : " ") + tokens[i].text;
        }
        return text;
    }
    size_t position() const { return at; }
    Error error(const std::string &what) const { return Error(Status::invalid_ptx, "PTX line " + std::to_string(line()) + ": " + what); }

private:
    std::vector<Token> tokens;
    size_t at = 0;
    std::string empty;
};

} // namespace attune::emulator
