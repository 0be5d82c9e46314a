#include "split.h"

#include <algorithm>
#include <cstddef>

#include "unicode.h"

namespace gpt {

namespace {

/** A text's characters; each match_... returns how many of them, from character `at` on, an alternative of the pattern takes: 0 for none.
 */
class Splitter {
public:
    Splitter(std::string_view text, SplitPattern pattern) : pattern_(pattern), characters_(characters_of(text)) {}

    size_t count() const { return characters_.size(); }
    size_t begin_of(size_t at) const { return at < count() ? characters_[at].begin : characters_.back().begin + characters_.back().size; }

    size_t match(size_t at) const {
        if (size_t taken = match_contraction(at)) return taken;
        if (size_t taken = match_letters(at)) return taken;
        if (size_t taken = match_numbers(at)) return taken;
        if (size_t taken = match_others(at)) return taken;
        return match_spaces(at);
    }

private:
    bool is(size_t at, CharClass kind) const { return at < count() && characters_[at].kind == kind; }
    bool is_space(size_t at) const { return at < count() && characters_[at].code_point == ' '; }
    bool is_line_end(size_t at) const { return at < count() && (characters_[at].code_point == '\r' || characters_[at].code_point == '\n'); }
    size_t run(size_t at, CharClass kind) const {
        size_t end = at;
        while (is(end, kind))
            ++end;
        return end - at;
    }

    /** The letter as contractions are compared: Llama 3's in any case, where U+017F is an s as well. */
    uint32_t folded(size_t at) const {
        const uint32_t point = at < count() ? characters_[at].code_point : 0;
        if (pattern_ == SplitPattern::gpt2) return point;
        return point == 0x17f ? 's' : point >= 'A' && point <= 'Z' ? point + ('a' - 'A') : point;
    }

    size_t match_contraction(size_t at) const {
        if (at >= count() || characters_[at].code_point != '\'') return 0;
        for (std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
            if (folded(at + 1) == static_cast<uint32_t>(ending[0]) &&
                (ending.size() == 1 || folded(at + 2) == static_cast<uint32_t>(ending[1])))
                return 1 + ending.size();
        return 0;
    }

    size_t match_letters(size_t at) const {
        if (const size_t letters = run(at, CharClass::letter)) return letters;
        const bool any_lead = pattern_ == SplitPattern::llama3 && at < count() && !is_line_end(at) && !is(at, CharClass::number);
        const size_t letters = any_lead || is_space(at) ? run(at + 1, CharClass::letter) : 0;
        return letters ? 1 + letters : 0;
    }

    size_t match_numbers(size_t at) const {
        if (pattern_ == SplitPattern::llama3) return std::min<size_t>(run(at, CharClass::number), 3);
        const size_t lead = is_space(at), numbers = run(at + lead, CharClass::number);
        return numbers ? lead + numbers : 0;
    }

    size_t match_others(size_t at) const {
        const size_t lead = is_space(at), others = run(at + lead, CharClass::other);
        if (others == 0) return 0;
        size_t end = at + lead + others;
        while (pattern_ == SplitPattern::llama3 && is_line_end(end))
            ++end;
        return end - at;
    }

    size_t match_spaces(size_t at) const {
        const size_t spaces = run(at, CharClass::space);
        if (pattern_ == SplitPattern::llama3)
            for (size_t end = spaces; end > 0; --end)
                if (is_line_end(at + end - 1)) return end;
        return spaces > 1 && at + spaces < count() ? spaces - 1 : spaces;
    }

    SplitPattern pattern_;
    std::vector<Character> characters_;
};

} // namespace

std::vector<std::string_view> split(std::string_view text, SplitPattern pattern) {
    if (text.empty()) return {};
    if (pattern == SplitPattern::none) return {text};
    const Splitter splitter(text, pattern);
    std::vector<std::string_view> words;
    for (size_t at = 0, next = 0; at < splitter.count(); at = next) {
        next = at + splitter.match(at);
        words.push_back(text.substr(splitter.begin_of(at), splitter.begin_of(next) - splitter.begin_of(at)));
    }
    return words;
}

} // namespace gpt
