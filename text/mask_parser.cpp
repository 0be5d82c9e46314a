#include <algorithm>

#include "mask.h"
#include "reader.h"
#include "terms.h"

namespace attune::text {

namespace {

class MaskParser : Reader {
public:
    MaskParser(std::string_view text, const ParseOptions &options) : Reader(text, "mask"), options_(options) {}

    ParseResult run() {
        if (check_text() && !read_none()) parse_whole();
        return {std::move(mask_), error(), error_column()};
    }

private:
    bool parse_whole() {
        if (!parse_either(mask_.root)) return false;
        if (token().kind != TokenKind::end) return fail(shown() + " follows a whole mask; join masks with & or |");
        return true;
    }

    bool parse_either(MaskNode &node) { return parse_chain(node, '|', MaskKind::disjunction, &MaskParser::parse_both); }
    bool parse_both(MaskNode &node) { return parse_chain(node, '&', MaskKind::conjunction, &MaskParser::parse_single); }

    bool parse_chain(MaskNode &node, char sign, MaskKind kind, bool (MaskParser::*operand)(MaskNode &)) {
        MaskNode first;
        if (!(this->*operand)(first)) return false;
        if (!token().is(sign)) {
            node = std::move(first);
            return true;
        }
        node.kind = kind;
        node.operands.push_back(std::move(first));
        while (skip(sign))
            if (!(this->*operand)(node.operands.emplace_back())) return false;
        return true;
    }

    bool parse_single(MaskNode &node) {
        const bool negated = token().is('!');
        if (!negated && !token().is('(')) return parse_term(node);
        if (++depth_ > max_mask_depth) return fail("brackets and ! are more than " + std::to_string(max_mask_depth) + " deep");
        advance();
        if (negated) node.kind = MaskKind::negation;
        const bool parsed = negated ? parse_single(node.operands.emplace_back()) : parse_either(node) && expect(')', "to close a bracket");
        --depth_;
        if (parsed && negated && node.operands[0].kind == MaskKind::negation) { // two cancel, and what may not be negated stands alone
            MaskNode twice_negated = std::move(node.operands[0].operands[0]);
            node = std::move(twice_negated);
        }
        return parsed;
    }

    bool parse_term(MaskNode &node) {
        if (token().kind != TokenKind::word) return fail(shown() + " stands where a mask should; the masks are " + known_terms());
        if (token().is("none")) return fail("none stands alone; it can't be combined");
        const TermRule *rule = find_term(token().text);
        if (!rule) return fail(shown() + " isn't a mask; the masks are " + known_terms());
        advance();
        node.kind = rule->kind;
        if (rule->takes_nothing() && token().is('(')) return fail(std::string(rule->name) + " takes nothing in brackets");
        if (!token().is('(') && rule->required_numbers == 0) return true;
        return expect('(', std::string("after ") + rule->name + "; write " + rule->usage) && parse_arguments(node, *rule);
    }

    /** What stands in the brackets: numbers, then perhaps an alignment. */
    bool parse_arguments(MaskNode &node, const TermRule &rule) {
        const std::string usage = std::string("in ") + rule.name + "; write " + rule.usage;
        for (size_t i = 0; i < rule.number_count; ++i) {
            if (i >= rule.required_numbers && !token().is(',')) break;
            if (i > 0 && !expect(',', usage)) return false;
            if (!parse_number(node, rule, rule.number_names[i])) return false;
        }
        const bool more = rule.takes_alignment && (rule.number_count == 0 || skip(','));
        if (more && !parse_alignment(node)) return false;
        return expect(')', usage);
    }

    bool parse_alignment(MaskNode &node) {
        if (token().kind != TokenKind::word || !find_alignment(token().text, node.alignment))
            return fail(shown() + " isn't an alignment; the alignments are " + known_alignments());
        advance();
        return true;
    }

    bool parse_number(MaskNode &node, const TermRule &rule, const std::string &name) {
        const std::string subject = std::string(rule.name) + "'s " + name;
        Number &number = node.numbers.emplace_back();
        if (token().kind == TokenKind::word) return parse_parameter(number, subject);
        const int32_t column = token().column;
        const IntegerLimit limit{rule.least, std::numeric_limits<int64_t>::max(), rule.least == -1 ? " (-1: no limit)" : ""};
        if (!read_integer(number.value, subject, limit)) return false;
        return node.kind != MaskKind::strided || check_width(node, column);
    }

    bool check_width(const MaskNode &strided, int32_t column) {
        const Number &step = strided.numbers.front(), &width = strided.numbers.back();
        if (step.is_parameter() || width.value <= step.value) return true;
        return fail(column,
                    "strided's width is '" + std::to_string(width.value) + "'; it must be at most its step, " + std::to_string(step.value));
    }

    bool parse_parameter(Number &number, const std::string &subject) {
        Alignment alignment;
        if (find_term(token().text) || find_alignment(token().text, alignment) || token().is("none"))
            return fail(subject + " is " + shown() + "; it must be a number");
        if (!options_.allow_parameters)
            return fail(subject + " is " + shown() +
                        "; it must be a number (names are for kernels built by attune_add_kernel, which take them at run time)");
        auto &names = mask_.parameters;
        const auto known = std::find(names.begin(), names.end(), token().text);
        number.parameter = static_cast<int32_t>(known - names.begin());
        if (known == names.end()) names.emplace_back(token().text);
        advance();
        return true;
    }

    ParseOptions options_;
    int depth_ = 0;
    Mask mask_;
};

} // namespace

ParseResult parse_mask(std::string_view text, const ParseOptions &options) { return MaskParser(text, options).run(); }

} // namespace attune::text
