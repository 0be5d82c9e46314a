#include "position.h"

#include <algorithm>
#include <numeric>

#include "reader.h"
#include "scaling.h"
#include "terms.h"

namespace attune::text {

namespace {

constexpr size_t max_sections = 8;
constexpr int32_t max_axes = 8;
const char *const layout_usage = "rotary(half|interleaved, ...)";
const char *const sections_usage = "in mrope; write sections=mrope(pairs, pairs, ...)";

class PositionParser : ScalingReader {
public:
    PositionParser(std::string_view text, const char *subject) : ScalingReader(text, subject) {}

    PositionResult run_position() { return result(check_text() && !read_none() && parse_kind() && at_end()); }
    PositionResult run_scaling() { return result(read_scaling(position_.scaling) && at_end()); }

private:
    using Parse = bool (PositionParser::*)();
    struct Option {
        const char *name;
        Parse parse;
    };
    static constexpr size_t option_count = 5;

    PositionResult result(bool) { return {std::move(position_), error(), error_column()}; }

    bool at_end() { return token().kind == TokenKind::end || fail(shown() + " follows a whole " + subject() + "; only one may stand"); }

    bool parse_kind() {
        struct Kind {
            const char *name;
            PositionKind kind;
        };
        for (const Kind &kind :
             {Kind{"rotary", PositionKind::rotary}, {"sinusoidal", PositionKind::sinusoidal}, {"learned", PositionKind::learned}})
            if (token().is(kind.name)) {
                position_.kind = kind.kind;
                advance();
                return parse_brackets(kind.name);
            }
        return fail(shown() + " isn't a position; the positions are none, rotary, sinusoidal, learned");
    }

    bool parse_brackets(const std::string &name) {
        if (position_.kind == PositionKind::rotary)
            return expect('(', std::string("after rotary; write ") + layout_usage) && parse_layout() && parse_options() && check_rotary();
        if (!token().is('(')) return true;
        if (position_.kind == PositionKind::learned) return fail(name + " takes nothing in brackets");
        advance();
        if (!token().is("base")) return fail(shown() + " isn't an option of sinusoidal; the options are base=");
        return parse_option() && expect(')', "in sinusoidal; write sinusoidal or sinusoidal(base=number)");
    }

    bool parse_layout() {
        if (!token().is("half") && !token().is("interleaved"))
            return fail(shown() + " isn't a layout; the layouts are half, interleaved; write " + layout_usage);
        if (token().is("interleaved")) position_.layout = RotaryLayout::interleaved;
        advance();
        return true;
    }

    bool parse_options() {
        while (skip(','))
            if (!parse_option()) return false;
        return expect(')', "in rotary; write rotary(half|interleaved, option, ...)");
    }

    bool parse_option() {
        if (token().kind == TokenKind::word && find_alignment(token().text, position_.alignment)) return parse_alignment();
        const auto *option =
            std::find_if(std::begin(options), std::end(options), [&](const Option &candidate) { return token().is(candidate.name); });
        if (option == std::end(options))
            return fail(shown() + " isn't an option of rotary; the options are base=, width=, scaling=, sections=, axes=, " +
                        known_alignments());
        int32_t &column = columns_[option - std::begin(options)];
        if (column) return fail(shown() + " stands twice; each option may be given once");
        column = token().column;
        advance();
        return expect('=', std::string("after ") + option->name) && (this->*option->parse)();
    }

    bool parse_alignment() {
        if (aligned_) return fail(shown() + " stands beside another alignment; one may be given");
        aligned_ = true;
        advance();
        return true;
    }

    bool parse_base() { return read_real(position_.base, "base", {0, false, "a number above 0"}); }

    bool parse_width() {
        const std::string is = "width is " + shown();
        const int32_t column = token().column;
        if (!read_integer(position_.width, "width", 2)) return false;
        return position_.width % 2 == 0 || fail(column, is + "; it must be even, since channels turn in pairs");
    }

    bool parse_scaling() { return read_scaling(position_.scaling); }

    bool parse_sections() {
        if (!token().is("mrope")) return fail(shown() + " isn't a kind of sections; the kinds are mrope");
        advance();
        if (!expect('(', sections_usage)) return false;
        do {
            if (position_.sections.size() == max_sections) return fail("mrope has more than " + std::to_string(max_sections) + " sections");
            if (!read_integer(position_.sections.emplace_back(), "mrope's section", 0)) return false;
        } while (skip(','));
        return expect(')', sections_usage);
    }

    bool parse_axes() {
        const int32_t column = token().column;
        if (!read_integer(position_.axes, "axes", 2)) return false;
        return position_.axes <= max_axes ||
               fail(column, "axes is " + std::to_string(position_.axes) + "; it must be at most " + std::to_string(max_axes));
    }

    /** What options say about one another; without a width, D decides the rest when it is known. */
    bool check_rotary() {
        const int32_t pairs = position_.width / 2;
        if (columns_[sections] && columns_[axes])
            return fail(std::max(columns_[sections], columns_[axes]), "sections and axes exclude each other");
        if (pairs && position_.axes > 1 && pairs % position_.axes != 0)
            return fail(columns_[axes], "axes is " + std::to_string(position_.axes) + "; it must divide the " + std::to_string(pairs) +
                                            " pairs of width " + std::to_string(position_.width));
        const int64_t sum = std::accumulate(position_.sections.begin(), position_.sections.end(), int64_t(0));
        if (pairs && columns_[sections] && sum != pairs)
            return fail(columns_[sections], "mrope's sections add up to " + std::to_string(sum) + "; they must to " +
                                                std::to_string(pairs) + ", the pairs of width " + std::to_string(position_.width));
        return true;
    }

    enum OptionIndex { base, width, scaling, sections, axes };
    static constexpr Option options[option_count] = {{"base", &PositionParser::parse_base},
                                                     {"width", &PositionParser::parse_width},
                                                     {"scaling", &PositionParser::parse_scaling},
                                                     {"sections", &PositionParser::parse_sections},
                                                     {"axes", &PositionParser::parse_axes}};

    Position position_;
    bool aligned_ = false;
    int32_t columns_[option_count] = {}; // of the options given; 0: not
};

} // namespace

PositionResult parse_position(std::string_view text) { return PositionParser(text, "position").run_position(); }

PositionResult parse_scaling(std::string_view text) { return PositionParser(text, "scaling").run_scaling(); }

} // namespace attune::text
