// Text to tokens and back: byte pair encoding as GPT-2, Llama 2 and Llama 3 have it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "merges.h"
#include "split.h"

namespace gpt {

/** Where a space is put before the text, so that its first word is like any other. */
enum class SpaceBefore { nothing, first, always }; // `first`: not after a special token

/** What a tokenizer's files say. */
struct TokenizerRules {
    std::unordered_map<std::string, int32_t> vocabulary; // what a token stands for, in bytes
    Merges merges;
    bool byte_level = true;              // merges begin with bytes; otherwise with characters, and bytes of those that are no token
    std::array<int32_t, 256> bytes = {}; // the token of each byte; -1: none
    SplitPattern pattern = SplitPattern::gpt2;
    SpaceBefore space_before = SpaceBefore::nothing;
    bool space_unless_there = true;         // only before a text that doesn't begin with one
    bool whole_words = false;               // a word that is a token isn't merged from smaller ones
    bool strip_space = false;               // decoding takes one leading space away
    int32_t unknown = -1;                   // for characters without a token; -1: they are left out
    std::map<std::string, int32_t> special; // written out in a text they are that token
    std::set<int32_t> hidden;               // of these, those that decode to nothing; others to what they are written as
    std::vector<int32_t> begin;             // before every text
};

class Tokenizer {
public:
    explicit Tokenizer(TokenizerRules rules);

    /** Reads `folder`/tokenizer.json; where there is none, GPT-2's vocab.json and merges.txt. Throws an Error for what it doesn't know. */
    static Tokenizer load(const std::filesystem::path &folder);

    /** The tokens of UTF-8 text, with those that begin every text. */
    std::vector<int32_t> encode(std::string_view text) const;

    /** The text of tokens: bytes, which are UTF-8 where the tokens were made of it. */
    std::string decode(const std::vector<int32_t> &tokens) const;

    /** What one token stands for within a text: bytes, maybe a part of a character. "" for special tokens and for numbers of no token. */
    const std::string &piece(int32_t token) const;

    /** One more than the highest token. */
    int32_t size() const { return static_cast<int32_t>(pieces_.size()); }

private:
    /** Appends the tokens of text without special tokens. */
    void encode_plain(std::string_view text, bool is_first, std::vector<int32_t> &tokens) const;
    std::vector<int32_t> symbols_of(std::string_view word) const;

    TokenizerRules rules_;
    std::vector<std::string> pieces_;
};

} // namespace gpt
