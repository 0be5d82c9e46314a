// A tokenizer's vocabulary and merges: tokens as the files write them, and the bytes they stand for.
#include "tokenizer_vocabulary.h"

#include <charconv>

#include "error.h"
#include "unicode.h"

namespace gpt {

namespace {

using nlohmann::json;

/** GPT-2's alphabet: bytes that print stand for themselves, the others, in order, for characters from U+0100 on. */
std::unordered_map<uint32_t, char> byte_alphabet() {
    std::unordered_map<uint32_t, char> alphabet;
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        const bool prints = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
        alphabet[prints ? byte : next++] = static_cast<char>(byte);
    }
    return alphabet;
}

/** The bytes a token stands for. Special tokens may be of other characters, which stand for themselves. */
std::string bytes_of(const std::string &token, bool byte_level) {
    static const std::unordered_map<uint32_t, char> alphabet = byte_alphabet();
    std::string bytes;
    for (const Character &character : characters_of(token)) {
        const auto byte = byte_level ? alphabet.find(character.code_point) : alphabet.end();
        const std::string_view itself = std::string_view(token).substr(character.begin, character.size);
        if (byte != alphabet.end())
            bytes += byte->second;
        else if (!byte_level && itself == space_sign)
            bytes += ' ';
        else
            bytes += itself;
    }
    return bytes;
}

/** Which byte "<0x41>" stands for; -1 for other tokens. */
int byte_token(const std::string &token) {
    if (token.size() != 6 || token.compare(0, 3, "<0x") != 0 || token[5] != '>') return -1;
    int byte = 0;
    const auto [end, error] = std::from_chars(&token[3], &token[5], byte, 16);
    return error == std::errc() && end == &token[5] ? byte : -1;
}

void add_merge(const std::string &left, const std::string &right, TokenizerRules &rules) {
    const std::string a = bytes_of(left, rules.byte_level), b = bytes_of(right, rules.byte_level);
    const int32_t left_token = token_of(a, rules), right_token = token_of(b, rules);
    rules.merges.add(left_token, right_token, token_of(a + b, rules));
}

} // namespace

void add_vocabulary(const json &vocabulary, TokenizerRules &rules) {
    require(vocabulary.is_object(), "the tokenizer's vocabulary isn't a JSON object");
    rules.bytes.fill(-1);
    for (const auto &[token, number] : vocabulary.items()) {
        require(number.is_number_integer() && number >= 0 && number < most_tokens, "token \"{}\" has the number {}; it must be 0 to {}",
                token, number.dump(), most_tokens - 1);
        const int byte = rules.byte_level ? -1 : byte_token(token);
        if (byte >= 0)
            rules.bytes[static_cast<size_t>(byte)] = number.get<int32_t>();
        else
            rules.vocabulary[bytes_of(token, rules.byte_level)] = number.get<int32_t>();
    }
    for (int byte = 0; rules.byte_level && byte < 256; ++byte) {
        const auto found = rules.vocabulary.find(std::string(1, static_cast<char>(byte)));
        require(found != rules.vocabulary.end(), "the tokenizer's vocabulary has no token of byte {}", byte);
        rules.bytes[static_cast<size_t>(byte)] = found->second;
    }
}

int32_t token_of(const std::string &token, const TokenizerRules &rules) {
    const auto found = rules.vocabulary.find(token);
    if (found != rules.vocabulary.end()) return found->second;
    const int byte = rules.byte_level ? -1 : byte_token(token);
    require(byte >= 0 && rules.bytes[static_cast<size_t>(byte)] >= 0, "a merge names \"{}\", which is no token", token);
    return rules.bytes[static_cast<size_t>(byte)];
}

void add_merge(const std::string &line, TokenizerRules &rules) {
    const size_t space = line.find(' ');
    require(space != std::string::npos && line.find(' ', space + 1) == std::string::npos, "the merge \"{}\" must be two tokens", line);
    add_merge(line.substr(0, space), line.substr(space + 1), rules);
}

void add_merges(const json &merges, TokenizerRules &rules) {
    require(merges.is_array(), "the tokenizer's merges aren't a JSON array");
    for (const json &merge : merges) {
        if (merge.is_string()) {
            add_merge(merge.get<std::string>(), rules);
            continue;
        }
        const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
        require(pair, "a merge is {}; it must be two tokens", merge.dump());
        add_merge(merge[0].get<std::string>(), merge[1].get<std::string>(), rules);
    }
}

} // namespace gpt
