// How byte-level tokenizers cut a text into words before merging: no token reaches across two of them.
#pragma once

#include <string_view>
#include <vector>

namespace gpt {

/** The patterns, as their tokenizer files have them, written out by hand in split.cpp. Of both: \s+ leaves its last character to what
 * follows, since a space belongs to the word behind it. */
enum class SplitPattern {
    none,
    gpt2,  // 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    llama3 // (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
};

/** The words of a text, in order: together they are the text. */
std::vector<std::string_view> split(std::string_view text, SplitPattern pattern);

} // namespace gpt
