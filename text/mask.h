// The textual mask language, as plain data: "causal & window(256, 0) | prefix(16)".
//
//   mask    := none | either
//   either  := both { "|" both }
//   both    := single { "&" single }
//   single  := "!" single | "(" either ")" | term
//   term    := causal [ "(" alignment ")" ] | window "(" number "," number [ "," alignment ] ")" | prefix "(" number ")"
//            | dilated "(" number [ "," alignment ] ")" | strided "(" number [ "," number ] ")" | blocks "(" number "," number ")"
//            | documents | lengths | tensor
//
// A number is an integer, or where the caller allows it the name of a run-time parameter. Names are case sensitive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::text {

inline constexpr int max_mask_depth = 64; // brackets and "!" inside one another

/** Names in a mask compiled in for a GPU: the kernel takes them one by one. */
inline constexpr int most_cuda_parameters = 16;

/** How far windows without a limit reach in a mask compiled in, and what numbers beyond count as: within 32 bits, from any position. */
inline constexpr int64_t compiled_reach = int64_t(1) << 30;

/** On a GPU, queries for which one range of keys is taken from documents' ids (dsl/document_ranges.h). */
inline constexpr int queries_a_document_range = 64;
inline constexpr int document_range_parts = 4; // numbers that tell of it

/** Where query 0 stands among N queries and M keys: top_left at key 0, bottom_right at key M - N, unnamed at the offset given. */
enum class Alignment { unnamed, top_left, bottom_right };

enum class MaskKind {
    none,
    causal,
    window,
    prefix,
    dilated,
    strided,
    blocks,
    documents,
    lengths,
    tensor,
    negation,
    conjunction,
    disjunction
};

/** An integer, or a named parameter whose value comes with each run. */
struct Number {
    int64_t value = 0;
    int32_t parameter = -1; // index into Mask::parameters; -1: `value` counts

    bool is_parameter() const { return parameter >= 0; }
};

/** One predicate over (query i, key j), true where i may attend j, with p = i + offset:
 *  causal j <= p; window p - numbers[0] <= j <= p + numbers[1], -1 for no limit; prefix j < numbers[0];
 *  dilated (p - j) mod numbers[0] = 0; strided j mod numbers[0] < numbers[1] (1): the first keys of every numbers[0] (as the summary
 *  columns of Child et al., arXiv 1904.10509, section 4.3); blocks(Q, K): block_map[i / Q, j / K]; documents: i and j are of the same
 *  document; lengths: j < key_lengths[batch]; tensor: boolean_mask[i, j]. */
struct MaskNode {
    MaskKind kind = MaskKind::none;
    Alignment alignment = Alignment::unnamed;
    std::vector<Number> numbers;
    std::vector<MaskNode> operands; // one of a negation, two or more of a conjunction or disjunction
};

struct Mask {
    MaskNode root;
    std::vector<std::string> parameters; // in order of first appearance
};

struct ParseOptions {
    bool allow_parameters = false;
};

/** A mask, or one sentence that says what is wrong at which column (from 1). */
struct ParseResult {
    Mask mask;
    std::string error;
    int32_t column = 0;

    bool ok() const { return error.empty(); }
};

ParseResult parse_mask(std::string_view text, const ParseOptions &options = {});

/** The word for a term: "causal". */
const char *name_of(MaskKind kind);

/** The least value a term's numbers may have: -1 for window, 0 for prefix, 1 for dilated, strided and blocks. */
int64_t least_number(MaskKind kind);

/** The first causal, window or dilated that names no alignment, so that it needs an offset or N = M; nullptr if there is none. */
const MaskNode *first_unaligned(const MaskNode &node);

/** Whether the mask names a term anywhere. */
bool names_term(const MaskNode &node, MaskKind kind);

} // namespace attune::text
