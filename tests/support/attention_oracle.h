// Attention by plain loops: in float64, what every kernel is judged against; in float, the yardstick of the rule of accuracy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random.h"
#include "tensor.h"

namespace attune::test {

/** The learned biases of T5's buckets of relative positions. */
struct T5Bias {
    int64_t max_distance;
    bool bidirectional;
    Tensor<float> table; // [buckets, heads]
};

/** Rotary embedding of q and k. */
struct Rotary {
    bool interleaved = false;
    double base = 10000;
    int64_t width = 0; // 0: all of D
};

/** Everything that settles one attention: tensors as attune_attention_args has them, and the meaning of semantics' order. */
struct AttentionProblem {
    Tensor<float> q, k, v; // [B,Hq,N,D] [B,Hkv,M,D] [B,Hkv,M,Dv]
    std::string mask = "none";
    std::optional<int64_t> offset;
    std::vector<int64_t> offsets;     // one per batch item; or empty
    std::vector<int64_t> key_lengths; // one per batch item; or empty
    std::optional<Tensor<uint8_t>> boolean_mask, block_map;
    std::optional<Tensor<int64_t>> documents, query_documents; // [B or 1, M], [B or 1, N]
    std::vector<int64_t> document_starts;                      // instead of them; or empty
    std::optional<Tensor<float>> bias;
    std::optional<float> scale; // none: 1 / sqrt(D)
    float softcap = 0;
    bool alibi = false;
    std::optional<T5Bias> t5;
    std::string alignment; // of alibi, t5 and rotary: "", "top_left" or "bottom_right"
    std::optional<Rotary> rotary;
    std::optional<Tensor<float>> learned;          // [P, D], added to q and k
    std::vector<int64_t> positions, key_positions; // [N], [M]; or empty
    float temperature = 1;
    std::optional<Tensor<float>> sinks; // [Hq]
    float dropout = 0;
    uint64_t seed = 0;

    int64_t batch() const { return q.extent[0]; }
    int64_t query_heads() const { return q.extent[1]; }
    int64_t key_heads() const { return k.extent[1]; }
    int64_t queries() const { return q.extent[2]; }
    int64_t keys() const { return k.extent[2]; }
    int64_t dim() const { return q.extent[3]; }
    int64_t value_dim() const { return v.extent[3]; }

    /** What a plan is told of it: "alibi(top_left) t5(8, 16, causal)". The soft cap goes by the arguments. */
    std::string score_text() const;
    std::string position_text() const;
};

struct AttentionShape {
    int64_t batch = 1, query_heads = 1, key_heads = 1, queries = 1, keys = 1, dim = 64, value_dim = 64;
};

/** A problem of unit-normal q, k and v. */
AttentionProblem normal_problem(const AttentionShape &shape, Random &random, const Layout &layout = {});

/** Gives a key of every row a score that over the problem's new T is no finite float, and each head a sink. */
void add_overflow_beside_sinks(AttentionProblem &problem, int64_t key);

/** One batch item of a problem, as a problem of batch 1. Dropout draws by the batch item's number, and so differs. */
AttentionProblem batch_item(const AttentionProblem &problem, int64_t item);

/** All in C order: out [B,Hq,N,Dv], lse and attends_nothing [B,Hq,N], the others [B,Hq,N,M]. */
struct AttentionAnswer {
    std::vector<double> out, lse, weights;
    std::vector<double> scaled, capped, biased; // the scores in stages; `biased` is -inf where masked
    std::vector<bool> attends_nothing, masked, dropped;
};

/**
 * out = sum_j dropout(softmax_j(mask(biases_ij + softcap(scale q_i . k_j)) / T)) v_j, with the sink as one more logit,
 * lse = log(exp(sink) + sum_j exp(.)), every operation in float64.
 * A masked cell takes no part, whatever k, v and bias hold there; an attended one follows IEEE arithmetic.
 */
AttentionAnswer attention_in_double(const AttentionProblem &problem);

/** The same loops with every intermediate rounded to f32; sums run in an order of their own for each `order`, 0 as written. */
AttentionAnswer attention_in_float(const AttentionProblem &problem, int order = 0);

/** Largest errors of the textbook form in f32: one number for each output. */
struct RoundingError {
    double out = 0, lse = 0, weights = 0, scaled = 0, capped = 0, biased = 0;
};

/**
 * The largest error of attention_in_float over several orders of summation. The rule of accuracy compares largest errors; that
 * of one order, on a problem of few rows, is a matter of luck, and a right kernel would miss twice of it every so often.
 * Orders are computed one by one, as within_rounding needs them. Both problem and answer must outlive it.
 */
class Rounding {
public:
    Rounding(const AttentionProblem &problem, const AttentionAnswer &exact);

    /** Of the orders so far: of one, to begin with. */
    const RoundingError &error() const { return error_; }
    /** Takes one more order in; false if all are. */
    bool widen();

private:
    void take_in(int order);

    const AttentionProblem &problem_;
    const AttentionAnswer &exact_;
    RoundingError error_;
    int orders_ = 0;
};

/** What `check` says of the largest error of all orders. One more order only allows more: the first with which it succeeds settles it. */
template <typename Check>::testing::AssertionResult within_rounding(Rounding &rounding, Check check) {
    ::testing::AssertionResult result = check(rounding.error());
    while (!result && rounding.widen())
        result = check(rounding.error());
    return result;
}

} // namespace attune::test
