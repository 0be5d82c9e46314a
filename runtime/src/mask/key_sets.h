// Sets of keys that the data of a call settles, for rows to pick from: the documents of a packed sequence, the rows of a block map.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/src/kernel/call.h"
#include "runtime/src/mask/intervals.h"

namespace attune::runtime {

/** The sets of one batch item and head. */
struct KeySets {
    const Interval *intervals = nullptr; // of all sets, end to end
    const size_t *first = nullptr;       // set s is intervals[first[s]] to intervals[first[s + 1] - 1]
    const int32_t *set_of_row = nullptr; // of each query, negative for no key; nullptr: row / rows_a_set
    int64_t rows_a_set = 1;

    int64_t set_of(int64_t row) const { return set_of_row ? set_of_row[row] : row / rows_a_set; }
};

/** Where documents come from: the tensors of attune_attention_args, checked. */
struct DocumentInput {
    int64_t queries;
    int64_t keys;
    const attune_tensor *documents;       // [B or 1, M], or nullptr
    const attune_tensor *query_documents; // [B or 1, N]; nullptr: as documents
    const attune_tensor *document_starts; // [S + 1]; instead of the other two
};

/** Each document's keys, in runs, and its number: the documents of an item are counted from 0, queries of a document without keys get -1.
 */
class DocumentSets {
public:
    explicit DocumentSets(Call &call) : call_(call), intervals_(call), first_(call), key_numbers_(call), query_numbers_(call) {}

    /** O(M log M) an item, and less the longer the runs are. */
    Status fill(const DocumentInput &input);

    bool filled() const { return items_ > 0; }
    int64_t items() const { return items_; }    // 1: all batch items share them
    size_t largest() const { return largest_; } // runs of the document that has most
    KeySets sets(int64_t item) const;
    const int32_t *key_numbers() const { return key_numbers_.data(); }     // [items, M]
    const int32_t *query_numbers() const { return query_numbers_.data(); } // [items, N]

private:
    struct Run;
    Status allocate(const DocumentInput &input, size_t runs);
    void fill_item(const DocumentInput &input, int64_t item, Run *runs);
    void number_queries(const DocumentInput &input, int64_t item, const Run *runs, int32_t documents);

    Call &call_;
    int64_t items_ = 0, queries_ = 0;
    size_t largest_ = 0;
    size_t stride_ = 0; // places of first_ an item has, one more than of intervals_
    Scratch<Interval> intervals_;
    Scratch<size_t> first_;
    Scratch<int32_t> key_numbers_, query_numbers_;
};

/** Q queries by K keys: the numbers of blocks(Q, K). */
struct BlockSize {
    int64_t queries;
    int64_t keys;
};

/** The runs of keys in each row of a block map, ATTUNE_BOOL [B or 1, Hq or 1, ceil(N / Q), ceil(M / K)]. */
class BlockSets {
public:
    explicit BlockSets(Call &call) : intervals_(call), first_(call) {}

    Status fill(const attune_tensor &map, const BlockSize &size, int64_t keys);

    int64_t items() const { return items_; } // 1: all batch items share them
    int64_t heads() const { return heads_; } // likewise
    size_t largest() const { return largest_; }
    KeySets sets(int64_t item, int64_t head) const;

private:
    int64_t items_ = 1, heads_ = 1, rows_ = 0, query_block_ = 1;
    size_t largest_ = 0;
    Scratch<Interval> intervals_;
    Scratch<size_t> first_;
};

} // namespace attune::runtime
