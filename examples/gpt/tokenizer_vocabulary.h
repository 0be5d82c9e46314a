// A tokenizer's vocabulary and merges, from its files.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tokenizer.h"

namespace gpt {

inline constexpr int32_t most_tokens = 1 << 20;     // several times as many as any tokenizer has
inline constexpr const char *space_sign = "\u2581"; // what stands for a space in tokens of characters

// All throw an Error for what no such file has. rules.byte_level is settled before.

/** An object: token to number. */
void add_vocabulary(const nlohmann::json &vocabulary, TokenizerRules &rules);

/** An array of merges, each "left right" or ["left", "right"]. */
void add_merges(const nlohmann::json &merges, TokenizerRules &rules);

/** "left right": neither has a space within. */
void add_merge(const std::string &line, TokenizerRules &rules);

/** The number of a token by the bytes it stands for, or by the name of a byte: "<0x41>". */
int32_t token_of(const std::string &token, const TokenizerRules &rules);

} // namespace gpt
