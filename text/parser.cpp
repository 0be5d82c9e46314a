#include <algorithm>
#include <charconv>

#include "mask.h"
#include "terms.h"
#include "tokens.h"

namespace attune::text {

namespace {

/** Recursive descent over one text. The first error stays, and ends the parse: every function returns false once there is one. */
class Parser {
public:
    Parser(std::string_view text, const ParseOptions &options) : text_(text), options_(options) { advance(); }

    ParseResult run() {
        if (text_.size() > max_mask_length)
            fail(1, "the mask has " + std::to_string(text_.size()) + " characters; it may have " + std::to_string(max_mask_length));
        else if (token_.kind == TokenKind::end)
            fail(1, "the mask is empty; write none for no mask");
        else
            parse_whole();
        return std::move(result_);
    }

private:
    void advance() { token_ = next_token(text_, position_); }

    bool fail(int32_t column, const std::string &sentence) {
        if (result_.ok()) {
            result_.column = column;
            result_.error = "column " + std::to_string(column) + ": " + sentence;
        }
        return false;
    }

    std::string shown() const { return token_.kind == TokenKind::end ? "the end" : "'" + std::string(token_.text.substr(0, 40)) + "'"; }

    bool expect(char sign, const std::string &where) {
        if (!token_.is(sign)) return fail(token_.column, std::string("'") + sign + "' is missing " + where + ", before " + shown());
        advance();
        return true;
    }

    bool parse_whole() {
        if (token_.kind == TokenKind::word && token_.text == "none") {
            advance();
            if (token_.kind != TokenKind::end) return fail(token_.column, "none stands alone; it is followed by " + shown());
            return true;
        }
        if (!parse_either(result_.mask.root)) return false;
        if (token_.kind != TokenKind::end) return fail(token_.column, shown() + " follows a whole mask; join masks with & or |");
        return true;
    }

    bool parse_either(MaskNode &node) { return parse_chain(node, '|', MaskKind::disjunction, &Parser::parse_both); }
    bool parse_both(MaskNode &node) { return parse_chain(node, '&', MaskKind::conjunction, &Parser::parse_single); }

    bool parse_chain(MaskNode &node, char sign, MaskKind kind, bool (Parser::*operand)(MaskNode &)) {
        MaskNode first;
        if (!(this->*operand)(first)) return false;
        if (!token_.is(sign)) {
            node = std::move(first);
            return true;
        }
        node.kind = kind;
        node.operands.push_back(std::move(first));
        while (token_.is(sign)) {
            advance();
            if (!(this->*operand)(node.operands.emplace_back())) return false;
        }
        return true;
    }

    bool parse_single(MaskNode &node) {
        const bool negated = token_.is('!');
        if (!negated && !token_.is('(')) return parse_term(node);
        if (++depth_ > max_mask_depth)
            return fail(token_.column, "brackets and ! are more than " + std::to_string(max_mask_depth) + " deep");
        advance();
        if (negated) node.kind = MaskKind::negation;
        const bool parsed = negated ? parse_single(node.operands.emplace_back()) : parse_either(node) && expect(')', "to close a bracket");
        --depth_;
        return parsed;
    }

    bool parse_term(MaskNode &node) {
        const Token name = token_;
        if (name.kind != TokenKind::word) return fail(name.column, shown() + " stands where a mask should; the masks are " + known_terms());
        if (name.text == "none") return fail(name.column, "none stands alone; it can't be combined");
        const TermRule *rule = find_term(name.text);
        if (!rule) return fail(name.column, shown() + " isn't a mask; the masks are " + known_terms());
        advance();
        node.kind = rule->kind;
        if (!token_.is('(') && rule->number_count == 0) return true;
        return expect('(', std::string("after ") + rule->name + "; write " + rule->usage) && parse_arguments(node, *rule);
    }

    bool parse_arguments(MaskNode &node, const TermRule &rule) {
        const std::string usage = std::string("in ") + rule.name + "; write " + rule.usage;
        for (size_t i = 0; i < rule.number_count; ++i) {
            if (i > 0 && !expect(',', usage)) return false;
            if (!parse_number(node.numbers.emplace_back(), rule, rule.number_names[i])) return false;
        }
        const bool more = rule.number_count == 0 || token_.is(',');
        if (rule.takes_alignment && more && !parse_alignment(node, rule)) return false;
        return expect(')', usage);
    }

    bool parse_alignment(MaskNode &node, const TermRule &rule) {
        if (rule.number_count > 0) advance();
        if (token_.kind != TokenKind::word || !find_alignment(token_.text, node.alignment))
            return fail(token_.column, shown() + " isn't an alignment; the alignments are top_left, bottom_right");
        advance();
        return true;
    }

    bool parse_number(Number &number, const TermRule &rule, const std::string &name) {
        const std::string subject = std::string(rule.name) + "'s " + name;
        if (token_.kind == TokenKind::word) return parse_parameter(number, subject);
        if (token_.kind != TokenKind::integer) return fail(token_.column, subject + " is " + shown() + "; it must be an integer");
        const auto [end, problem] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), number.value);
        if (problem != std::errc()) return fail(token_.column, subject + " is " + shown() + "; it must fit in 64 bits");
        if (number.value < rule.least)
            return fail(token_.column, subject + " is " + shown() + "; it must be " + std::to_string(rule.least) + " or more" +
                                           (rule.least == -1 ? " (-1: no limit)" : ""));
        advance();
        return true;
    }

    bool parse_parameter(Number &number, const std::string &subject) {
        Alignment alignment;
        if (find_term(token_.text) || find_alignment(token_.text, alignment) || token_.text == "none")
            return fail(token_.column, subject + " is " + shown() + "; it must be a number");
        if (!options_.allow_parameters)
            return fail(token_.column,
                        subject + " is " + shown() +
                            "; it must be a number (names are for kernels built by attune_add_kernel, which take them at run time)");
        auto &names = result_.mask.parameters;
        const auto known = std::find(names.begin(), names.end(), token_.text);
        number.parameter = static_cast<int32_t>(known - names.begin());
        if (known == names.end()) names.emplace_back(token_.text);
        advance();
        return true;
    }

    std::string_view text_;
    ParseOptions options_;
    size_t position_ = 0;
    int depth_ = 0;
    Token token_;
    ParseResult result_;
};

} // namespace

ParseResult parse_mask(std::string_view text, const ParseOptions &options) { return Parser(text, options).run(); }

} // namespace attune::text
