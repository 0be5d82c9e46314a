// A cache of keys and values beside a plain record of what ought to be in it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attention_oracle.h"
#include "attune/attune.hpp"
#include "random.h"
#include "typed_tensor.h"

namespace attune::test {

struct CacheSetting {
    int64_t batch = 2, query_heads = 4, key_heads = 2, dim = 20, value_dim = 12;
    int64_t capacity = 64;
    int64_t page_size = 0; // 0: no block table; otherwise pages in a shuffled order, more of them than are needed
    bool ring = false;
    bool tokens_first = false; // memory [pages, tokens, heads, dim]
    attune_type dtype = ATTUNE_F32, cache_dtype = ATTUNE_F32;
    std::string mask = "causal", score = "none", position = "none", schedule; // "": Attune's choice
    const attune_kernel *kernel = nullptr;                                    // one's own, with `mask` and `score` compiled in
    /** The id of the token at a position, where the mask names documents. */
    std::function<int32_t(int64_t position)> document;
    attune_device device = ATTUNE_CPU;
    /** Runs a step elsewhere: takes the tensors of its arguments there, and what was written back. Empty: they are run as they are. */
    std::function<Status(const AttentionPlan &, const AttentionArgs &)> run;
};

/** What one step gave. */
struct CacheStep {
    Status status;
    TypedTensor out;
    Tensor<float> lse, weights;
};

/** Runs steps on a cache, and keeps each item's keys and values as one tensor for the oracle. */
class CacheModel {
public:
    CacheModel(const CacheSetting &setting, Random &random);

    std::vector<int64_t> lengths; // of each item, before the next step

    /** New q [B,Hq,N,D], k and v [B,Hkv,T,..] of unit-normal numbers of the dtype. */
    void draw(int64_t queries, int64_t new_tokens);
    Tensor<float> q, k, v;

    /** Takes tokens off the end of items, as a sampler does with what it rejects. */
    void shorten(const std::vector<int64_t> &to);

    /** Appends and attends; on success the record and `lengths` grow. */
    CacheStep step(bool weights = false);

    /** The step just made, of one item, as the oracle takes it: all its keys, and the offset of its queries. */
    AttentionProblem problem_of(int64_t item) const;

    /** Expects tokens of the record in their places, bit for bit, and nothing anywhere else in the cache. */
    void expect_cache_holds_the_record() const;

    /** Draws, steps, and expects the answer to agree with float64's and the cache to hold what it should. */
    void expect_right_step(int64_t queries, int64_t new_tokens);

    /** Arguments of a call, to spoil: they point into this object. */
    attune_cache cache_arguments();

private:
    struct Row {
        std::vector<double> values; // as stored: whole numbers for i8
        float scale;
    };
    struct Record {
        std::vector<std::vector<Row>> heads[2]; // of keys and values: head, then token
    };
    Row row_of(const Tensor<float> &x, int64_t item, int64_t head, int64_t token) const;
    void record_new_tokens();
    Extents place_of(int64_t item, int64_t head, int64_t token) const; // page, head, token of the page
    Tensor<float> recorded(int64_t item, int side) const;
    template <typename T> Tensor<T> documents(int64_t first, int64_t count) const; // [1, count], of tokens from position `first` on
    int64_t tokens_left(int64_t item) const;

    CacheSetting setting_;
    Random &random_;
    Result<AttentionPlan> plan_;
    TypedTensor pools_[2], scales_[2];
    Tensor<int64_t> table_;
    Tensor<int32_t> length_numbers_;
    attune_tensor table_view_ = {}, scale_views_[2] = {};
    std::vector<Record> records_;
    bool shortened_ = false;
};

/** Takes a new cache through steps of (queries, new tokens), each of which expect_right_step() looks at. */
void expect_right_steps(const CacheSetting &setting, Random &random, const std::vector<std::pair<int64_t, int64_t>> &steps);

} // namespace attune::test
