// What the ids of a packed sequence's documents say of many queries at once, for masks to look at: which keys are theirs.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** i32 ids (token, batch); N queries, M keys. */
struct DocumentIds {
    Halide::Func of_queries, of_keys;
    Halide::Expr queries, keys;
    int queries_a_range;
};

/** Of the queries of a range, those after one another that are looked at together: the first and the last key whose id lies between their
 * smallest and their largest, and those again where all these queries and all keys between have one id. Where there are none, M and -1.
 *
 * For ids in order that is exact; for others it may be more keys than need be. */
enum class DocumentRange { first, last, first_full, last_full };
constexpr int document_range_parts = 4;

struct DocumentRanges {
    Halide::Func ids;           // {smallest, largest} (range, batch)
    Halide::Func lane_keys;     // {first, last, how many if the queries have one id} (lane, range, batch)
    Halide::Func keys;          // likewise of all lanes: (range, batch)
    Halide::Func result;        // i32 (which, range, batch)
    Halide::RDom queries;       // of a range
    Halide::RDom chunks, lanes; // of lane_keys and keys
};

/** Declares it, with `lanes` keys looked at side by side. */
DocumentRanges document_ranges(const DocumentIds &in, int lanes);

} // namespace attune::dsl
