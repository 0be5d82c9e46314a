// The textual score language, as plain data: "softcap(30) alibi t5(32, 128, bidirectional)".
//
//   score := none | term { term }
//   term  := softcap "(" number ")" | alibi [ "(" alignment ")" ] | t5 "(" integer "," integer "," direction [ "," alignment ] ")" | bias
//
// Terms apply in the order written; softcap comes first, and none stands twice. `bias` is the place of the additive tensor, which comes
// last where it isn't named.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mask.h"

namespace attune::text {

enum class ScoreKind { softcap, alibi, t5, bias };

/** softcap: c tanh(s / c). alibi: s - slope_h |i + offset - j|. t5: s + table[bucket(j - i - offset), h] (Raffel et al., arXiv 1910.10683,
 * section 2.1, with the buckets of its published code). bias: s + tensor. */
struct ScoreTerm {
    ScoreKind kind = ScoreKind::bias;
    Alignment alignment = Alignment::unnamed;
    double cap = 0;             // softcap's c > 0
    int32_t buckets = 0;        // of t5: 2 or more; bidirectional: 4 or more, even
    int32_t max_distance = 0;   // of t5: from there on all distances share the last bucket; more than buckets / 2 (bidirectional: / 4)
    bool bidirectional = false; // of t5: half of the buckets are for keys after the query
    int32_t column = 1;
};

struct Score {
    std::vector<ScoreTerm> terms; // none: empty

    const ScoreTerm *find(ScoreKind kind) const;
};

/** A score, or one sentence that says what is wrong at which column (from 1). */
struct ScoreResult {
    Score score;
    std::string error;
    int32_t column = 0;

    bool ok() const { return error.empty(); }
};

ScoreResult parse_score(std::string_view text);

/** "alibi". */
const char *name_of(ScoreKind kind);

} // namespace attune::text
