#include "tokenizer.h"

#include <algorithm>

#include "unicode.h"

namespace gpt {

namespace {

/** The special token that stands first in the text: where, and of those there the longest; text.size() where there is none. */
size_t find_special(const std::map<std::string, int32_t> &special, std::string_view text, std::pair<std::string, int32_t> &found) {
    size_t first = text.size();
    for (const auto &[content, token] : special) {
        const size_t at = text.find(content);
        if (at > first || at == std::string_view::npos || (at == first && content.size() < found.first.size())) continue;
        first = at, found = {content, token};
    }
    return first;
}

/** U+2581 stands for a space in the files of tokenizers of characters, and so in their texts. */
void replace_space_signs(std::string &text) {
    static constexpr std::string_view sign = "\u2581";
    for (size_t at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1))
        text.replace(at, sign.size(), " ");
}

} // namespace

Tokenizer::Tokenizer(TokenizerRules rules) : rules_(std::move(rules)) {
    const auto set = [this](int32_t token, const std::string &piece) {
        pieces_.resize(std::max(pieces_.size(), static_cast<size_t>(token) + 1));
        pieces_[static_cast<size_t>(token)] = piece;
    };
    for (const auto &[piece, token] : rules_.vocabulary)
        set(token, piece);
    for (int byte = 0; byte < 256; ++byte)
        if (rules_.bytes[byte] >= 0) set(rules_.bytes[byte], std::string(1, static_cast<char>(byte)));
    for (const auto &[content, token] : rules_.special) {
        std::string piece = rules_.hidden.count(token) > 0 ? "" : content;
        if (!rules_.byte_level) replace_space_signs(piece);
        set(token, piece);
    }
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
    std::vector<int32_t> tokens = rules_.begin;
    for (bool is_first = true; !text.empty(); is_first = false) {
        std::pair<std::string, int32_t> special;
        const size_t plain = find_special(rules_.special, text, special);
        if (plain > 0) encode_plain(text.substr(0, plain), is_first, tokens);
        if (plain < text.size()) tokens.push_back(special.second);
        text.remove_prefix(std::min(text.size(), plain + special.first.size()));
    }
    return tokens;
}

void Tokenizer::encode_plain(std::string_view text, bool is_first, std::vector<int32_t> &tokens) const {
    std::string spaced(text);
    if (!rules_.byte_level) replace_space_signs(spaced);
    const bool space = rules_.space_before == SpaceBefore::always || (rules_.space_before == SpaceBefore::first && is_first);
    if (space && !(rules_.space_unless_there && spaced.front() == ' ')) spaced.insert(0, 1, ' ');
    for (std::string_view word : split(spaced, rules_.pattern)) {
        const auto whole = rules_.whole_words ? rules_.vocabulary.find(std::string(word)) : rules_.vocabulary.end();
        if (whole != rules_.vocabulary.end()) {
            tokens.push_back(whole->second);
            continue;
        }
        const std::vector<int32_t> merged = rules_.merges.apply(symbols_of(word));
        tokens.insert(tokens.end(), merged.begin(), merged.end());
    }
}

std::vector<int32_t> Tokenizer::symbols_of(std::string_view word) const {
    std::vector<int32_t> symbols;
    const auto add_bytes = [&](std::string_view bytes) {
        for (char byte : bytes)
            if (const int32_t token = rules_.bytes[static_cast<unsigned char>(byte)]; token >= 0)
                symbols.push_back(token);
            else if (rules_.unknown >= 0 && (symbols.empty() || symbols.back() != rules_.unknown)) // neighbours share one
                symbols.push_back(rules_.unknown);
    };
    if (rules_.byte_level) {
        add_bytes(word);
        return symbols;
    }
    for (const Character &character : characters_of(word)) {
        const std::string_view bytes = word.substr(character.begin, character.size);
        const auto found = rules_.vocabulary.find(std::string(bytes));
        if (found != rules_.vocabulary.end())
            symbols.push_back(found->second);
        else
            add_bytes(bytes);
    }
    return symbols;
}

std::string Tokenizer::decode(const std::vector<int32_t> &tokens) const {
    std::string text;
    for (int32_t token : tokens)
        text += piece(token);
    if (rules_.strip_space && !text.empty() && text.front() == ' ') text.erase(0, 1);
    return text;
}

const std::string &Tokenizer::piece(int32_t token) const {
    static const std::string nothing;
    return token >= 0 && token < size() ? pieces_[static_cast<size_t>(token)] : nothing;
}

} // namespace gpt
