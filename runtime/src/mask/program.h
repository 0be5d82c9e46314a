// A mask's tree as steps that work out the keys of one query row, without recursion or memory of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/src/mask/intervals.h"
#include "runtime/src/mask/key_sets.h"
#include "text/mask.h"

namespace attune::runtime {

/** A causal, window, prefix or lengths term. */
struct MaskTerm {
    text::MaskKind kind;
    text::Alignment alignment;
    text::Number numbers[2];
};

enum class StepKind { band, documents, blocks, complement, intersect, unite };

/** Works on a stack of sets: band, documents and blocks push one, complement replaces the top, the others replace the two on top. */
struct MaskStep {
    StepKind kind;
    uint32_t first_term; // band: the terms it is the conjunction of
    uint32_t term_count;
};

/** What a conjunction of terms leaves of row i: max(i + low_shift, low) <= j < min(i + high_shift, high). Shifts stay within +-2^33, which
 * no row and key are apart, so that sums can't overflow. */
struct Band {
    int64_t low_shift;
    int64_t high_shift;
    int64_t low;
    int64_t high;
};

struct MaskProgram {
    std::vector<MaskTerm> terms;
    std::vector<MaskStep> steps;
    size_t band_count = 0;
    bool depends_on_row = false;
    bool depends_on_offset = false;  // has a causal or window without an alignment of its own
    bool depends_on_lengths = false; // has a term `lengths`
    bool depends_on_documents = false;
    bool depends_on_blocks = false;
};

/** `masks` are all to hold; nullptr and `none` hold everywhere. They are made of terms that leave each row a few intervals: see
 * is_interval_term. */
MaskProgram compile_masks(const text::MaskNode *first, const text::MaskNode *second = nullptr);

/** True for the terms of a program: causal, window, prefix, lengths, documents and blocks. */
bool is_interval_term(text::MaskKind kind);

/** One batch item's numbers. */
struct MaskNumbers {
    int64_t queries; // N
    int64_t keys;    // M
    int64_t cut;     // keys from here on count for no row, whatever the mask says; M: none
    int64_t length;  // of the term `lengths`, 0 to M
    int64_t offset;  // key position of query 0, for terms without an alignment
    const int32_t *params;
};

int64_t value_of(const text::Number &number, const int32_t *params);

/** Fills bands[0 ... band_count). */
void bind(const MaskProgram &program, const MaskNumbers &numbers, Band *bands);

/** How much one evaluation needs. */
struct MaskRoom {
    size_t most_intervals; // of the result, at most
    size_t stack_size;     // intervals there must be room for
};

/** `documents` and `blocks` are the sizes of the largest sets of theirs. */
MaskRoom measure(const MaskProgram &program, size_t documents, size_t blocks);

/** A program with the numbers and data of one batch item and head. */
struct BoundMask {
    const MaskProgram &program;
    const Band *bands;
    KeySets documents, blocks; // where the program depends on them
    int32_t cut;
};

/** The keys below `cut` that row `row` may attend: points `result` into `stack`, which has room for stack_size, and returns their number.
 */
size_t evaluate(const BoundMask &mask, int64_t row, Interval *stack, const Interval *&result);

/** One band's keys in one row: at most one interval. */
inline bool evaluate_band(const Band &band, int64_t row, Interval &keys) {
    const int64_t begin = row + band.low_shift > band.low ? row + band.low_shift : band.low;
    const int64_t end = row + band.high_shift < band.high ? row + band.high_shift : band.high;
    keys = {static_cast<int32_t>(begin), static_cast<int32_t>(end)};
    return begin < end;
}

} // namespace attune::runtime
