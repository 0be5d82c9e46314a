#include "score.h"

#include <algorithm>

#include "reader.h"
#include "terms.h"

namespace attune::text {

namespace {

struct ScoreRule {
    const char *name;
    ScoreKind kind;
    const char *usage;
};

constexpr ScoreRule rules[] = {
    {"softcap", ScoreKind::softcap, "softcap(cap)"},
    {"alibi", ScoreKind::alibi, "alibi, alibi(top_left) or alibi(bottom_right)"},
    {"t5", ScoreKind::t5, "t5(buckets, max_distance, bidirectional|causal) or t5(..., top_left|bottom_right)"},
    {"bias", ScoreKind::bias, "bias"},
};

std::string known_scores() {
    std::string list;
    for (const ScoreRule &rule : rules)
        list += (list.empty() ? "" : ", ") + std::string(rule.name);
    return list;
}

const ScoreRule *find_score(std::string_view name) {
    const auto *found = std::find_if(std::begin(rules), std::end(rules), [&](const ScoreRule &rule) { return name == rule.name; });
    return found == std::end(rules) ? nullptr : found;
}

class ScoreParser : Reader {
public:
    explicit ScoreParser(std::string_view text) : Reader(text, "score") {}

    ScoreResult run() {
        if (check_text() && !read_none())
            while (token().kind != TokenKind::end && parse_term()) {
            }
        return {std::move(score_), error(), error_column()};
    }

private:
    bool parse_term() {
        if (token().is("none")) return fail("none stands alone; it can't be combined");
        const ScoreRule *rule = token().kind == TokenKind::word ? find_score(token().text) : nullptr;
        if (!rule) return fail(shown() + " isn't a score; the scores are " + known_scores());
        if (score_.find(rule->kind)) return fail(shown() + " stands twice; each score may be given once");
        if (rule->kind == ScoreKind::softcap && !score_.terms.empty())
            return fail("softcap comes after " + std::string(name_of(score_.terms.back().kind)) + "; it must come first");
        ScoreTerm &term = score_.terms.emplace_back();
        term.kind = rule->kind;
        term.column = token().column;
        advance();
        return parse_rest(term, *rule);
    }

    bool parse_rest(ScoreTerm &term, const ScoreRule &rule) {
        const std::string usage = std::string("in ") + rule.name + "; write " + rule.usage;
        if (term.kind == ScoreKind::bias && token().is('(')) return fail("bias takes nothing in brackets");
        if (term.kind == ScoreKind::bias || (term.kind == ScoreKind::alibi && !token().is('('))) return true;
        if (!expect('(', std::string("after ") + rule.name + "; write " + rule.usage)) return false;
        const bool parsed = term.kind == ScoreKind::softcap ? parse_cap(term)
                            : term.kind == ScoreKind::alibi ? parse_alignment(term)
                                                            : parse_buckets(term, usage);
        return parsed && expect(')', usage);
    }

    /** The kernel's cap is f32: one that it would round to 0 or to infinity is none. */
    bool parse_cap(ScoreTerm &term) {
        constexpr double least = std::numeric_limits<float>::min(), most = std::numeric_limits<float>::max();
        const std::string is = "softcap's cap is " + shown();
        const int32_t column = token().column;
        if (!read_real(term.cap, "softcap's cap", {0, false, "a number above 0"})) return false;
        return (term.cap >= least && term.cap <= most) || fail(column, is + "; it must be in the range of f32, 1.2e-38 to 3.4e38");
    }

    bool parse_alignment(ScoreTerm &term) {
        if (token().kind != TokenKind::word || !find_alignment(token().text, term.alignment))
            return fail(shown() + " isn't an alignment; the alignments are " + known_alignments());
        advance();
        return true;
    }

    bool parse_buckets(ScoreTerm &term, const std::string &usage) {
        const int32_t buckets_column = token().column;
        if (!read_integer(term.buckets, "t5's buckets", 2) || !expect(',', usage)) return false;
        const int32_t distance_column = token().column;
        if (!read_integer(term.max_distance, "t5's max_distance", 1) || !expect(',', usage)) return false;
        if (!token().is("bidirectional") && !token().is("causal"))
            return fail("t5's direction is " + shown() + "; it must be bidirectional or causal");
        term.bidirectional = token().is("bidirectional");
        advance();
        return check_buckets(term, buckets_column, distance_column) && (!skip(',') || parse_alignment(term));
    }

    /** Half of a direction's buckets hold one distance each; the others grow with its logarithm up to max_distance. */
    bool check_buckets(const ScoreTerm &term, int32_t buckets_column, int32_t distance_column) {
        const int32_t exact = term.buckets / (term.bidirectional ? 4 : 2);
        if (term.bidirectional && (term.buckets % 2 != 0 || exact == 0))
            return fail(buckets_column,
                        "t5's buckets is '" + std::to_string(term.buckets) + "'; it must be even and 4 or more where bidirectional");
        if (term.max_distance <= exact)
            return fail(distance_column, "t5's max_distance is '" + std::to_string(term.max_distance) + "'; it must be more than " +
                                             std::to_string(exact) + ", the distances with a bucket of their own");
        return true;
    }

    Score score_;
};

} // namespace

const ScoreTerm *Score::find(ScoreKind kind) const {
    for (const ScoreTerm &term : terms)
        if (term.kind == kind) return &term;
    return nullptr;
}

ScoreResult parse_score(std::string_view text) { return ScoreParser(text).run(); }

const char *name_of(ScoreKind kind) {
    for (const ScoreRule &rule : rules)
        if (rule.kind == kind) return rule.name;
    return "";
}

} // namespace attune::text
