#include "unicode.h"

#include <algorithm>
#include <iterator>

#include "unicode_ranges.h"

namespace gpt {

namespace {

template <size_t count> bool contains(const CodePointRange (&ranges)[count], uint32_t code_point) {
    const auto after = std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                                        [](uint32_t point, const CodePointRange &range) { return point < range.first; });
    return after != std::begin(ranges) && code_point <= std::prev(after)->last;
}

/** The character that begins at `begin`, without its class: one byte where that is no well-formed UTF-8. */
Character decode(std::string_view text, size_t begin) {
    const Character invalid = {0xfffd, begin, 1, CharClass::other};
    const auto lead = static_cast<unsigned char>(text[begin]);
    if (lead < 0x80) return {lead, begin, 1, CharClass::other};
    const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || size > text.size() - begin) return invalid;
    uint32_t point = lead & (0x7f >> size);
    for (size_t i = 1; i < size; ++i) {
        const auto next = static_cast<unsigned char>(text[begin + i]);
        if ((next & 0xc0) != 0x80) return invalid;
        point = point << 6 | (next & 0x3f);
    }
    static constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[size] || point > 0x10ffff || surrogate ? invalid : Character{point, begin, size, CharClass::other};
}

} // namespace

std::vector<Character> characters_of(std::string_view text) {
    std::vector<Character> characters;
    for (size_t begin = 0; begin < text.size(); begin += characters.back().size) {
        characters.push_back(decode(text, begin));
        characters.back().kind = class_of(characters.back().code_point);
    }
    return characters;
}

CharClass class_of(uint32_t code_point) {
    if (contains(letter_ranges, code_point)) return CharClass::letter;
    if (contains(number_ranges, code_point)) return CharClass::number;
    return contains(space_ranges, code_point) ? CharClass::space : CharClass::other;
}

void append_utf8(std::string &text, uint32_t code_point) {
    if (code_point < 0x80) {
        text += static_cast<char>(code_point);
        return;
    }
    const int following = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xff00 >> (following + 1) & 0xff) | code_point >> (6 * following));
    for (int i = following - 1; i >= 0; --i)
        text += static_cast<char>(0x80 | (code_point >> (6 * i) & 0x3f));
}

} // namespace gpt
