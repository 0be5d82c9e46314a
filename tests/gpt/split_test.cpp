// Cutting texts into words. That the patterns are those of the families is tested with their tokenizers, in tokenizer_test.cpp.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "gpt/split.h"
#include "gpt/unicode.h"

namespace gpt {
namespace {

using Words = std::vector<std::string_view>;

TEST(Split, Gpt2) {
    EXPECT_EQ(split("we'll see  2 x+y!\n\n end ", SplitPattern::gpt2),
              (Words{"we", "'ll", " see", " ", " 2", " x", "+", "y", "!", "\n\n", " end", " "}));
    EXPECT_EQ(split("I'LL 12345", SplitPattern::gpt2), (Words{"I", "'", "LL", " 12345"}));
}

TEST(Split, Llama3) {
    EXPECT_EQ(split("WE'LL see  12345 x+y!\n\n\tend \n ", SplitPattern::llama3),
              (Words{"WE", "'LL", " see", " ", " ", "123", "45", " x", "+y", "!\n\n", "\tend", " \n", " "}));
}

TEST(Split, NothingOrTheWhole) {
    EXPECT_TRUE(split("", SplitPattern::gpt2).empty());
    EXPECT_EQ(split("two words", SplitPattern::none), Words{"two words"});
}

/** Text of the characters that the patterns tell apart, and of bytes that are no UTF-8. */
std::string random_text(std::mt19937 &random) {
    static const std::string parts[] = {" ",      "\n", "\r", "\t",  "\u00a0", "a",          "\u00e9", "\u65e5",  "7",
                                        "\u00b2", "'",  "'s", "'LL", "!",      "\U0001f600", "\xff",   "\xe2\x96"};
    std::string text;
    for (uint32_t count = random() % 12; count > 0; --count)
        text += parts[random() % std::size(parts)];
    return text;
}

TEST(Split, WordsTogetherAreAlwaysTheText) {
    constexpr uint32_t seed = 3;
    std::mt19937 random(seed);
    for (int round = 0; round < 20000; ++round) {
        const std::string text = random_text(random);
        for (SplitPattern pattern : {SplitPattern::gpt2, SplitPattern::llama3}) {
            std::string joined;
            for (std::string_view word : split(text, pattern)) {
                ASSERT_FALSE(word.empty()) << "seed " << seed << ", round " << round;
                joined += word;
            }
            ASSERT_EQ(joined, text) << "seed " << seed << ", round " << round;
        }
    }
}

TEST(Unicode, EveryCodePointSurvivesUtf8) {
    for (uint32_t point = 0; point <= 0x10ffff; ++point) {
        std::string text;
        append_utf8(text, point);
        const std::vector<Character> characters = characters_of(text);
        if (point >= 0xd800 && point <= 0xdfff) {
            ASSERT_EQ(characters.size(), 3u) << point; // surrogates are no characters
            continue;
        }
        ASSERT_EQ(characters.size(), 1u) << point;
        ASSERT_EQ(characters[0].code_point, point);
        ASSERT_EQ(characters[0].size, text.size());
    }
}

TEST(Unicode, WhatIsNoUtf8IsReadByteByByte) {
    for (const char *text : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x96", "\xff"})
        for (const Character &character : characters_of(text))
            EXPECT_EQ(character.code_point, 0xfffdu) << text;
}

TEST(Unicode, Classes) {
    for (uint32_t point : {uint32_t('a'), 0xe9u, 0x65e5u, 0x1d400u})
        EXPECT_EQ(class_of(point), CharClass::letter) << point;
    for (uint32_t point : {uint32_t('0'), 0xb2u, 0x2167u, 0x661u})
        EXPECT_EQ(class_of(point), CharClass::number) << point;
    for (uint32_t point : {uint32_t(' '), uint32_t('\n'), 0x85u, 0xa0u, 0x3000u})
        EXPECT_EQ(class_of(point), CharClass::space) << point;
    for (uint32_t point : {uint32_t('!'), 0x301u, 0x200bu, 0x1f600u, 0x1cu, 0x10ffffu})
        EXPECT_EQ(class_of(point), CharClass::other) << point;
}

} // namespace
} // namespace gpt
