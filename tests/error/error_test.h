// What the error tests share: a good call to spoil, and what an error must look like.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/attune.hpp"
#include "tensor.h"

namespace attune::test {

/** The code, and a sentence that holds every one of `words`: argument, value and limit. */
inline void expect_error(attune_status got, attune_status want, const std::vector<std::string> &words) {
    EXPECT_EQ(got, want);
    const std::string sentence = attune_error_message();
    for (const std::string &word : words)
        EXPECT_NE(sentence.find(word), std::string::npos) << "'" << word << "' isn't in: " << sentence;
    if (want != ATTUNE_OK) {
        EXPECT_GT(sentence.size(), 10u);
        EXPECT_EQ(sentence.find('\n'), std::string::npos) << "one sentence, one line: " << sentence;
    }
}

/** A bad call: how a good one is spoilt, and what must be said of it. */
template <typename Good> struct BadCall {
    const char *name;
    std::function<void(Good &)> spoil;
    std::vector<std::string> words;
    attune_status status = ATTUNE_INVALID_ARGUMENT;
};

template <typename Good> std::string bad_call_name(const ::testing::TestParamInfo<BadCall<Good>> &info) { return info.param.name; }
template <typename Good> void PrintTo(const BadCall<Good> &call, std::ostream *stream) { *stream << call.name; }

/** A good attention of B 2, Hq 4, Hkv 2, N 5, M 7, D 8, Dv 6 with all optional tensors that go together. */
struct GoodAttention {
    Tensor<float> q{{2, 4, 5, 8}}, k{{2, 2, 7, 8}}, v{{2, 2, 7, 6}}, out{{2, 4, 5, 6}, {{}, 2}}, lse{{2, 4, 5}}, weights{{2, 4, 5, 7}};
    Tensor<float> scores{{2, 4, 5, 7}}, bias{{1, 4, 1, 7}}, t5_table{{8, 4}}, sinks{{4}}, learned{{5, 8}};
    Tensor<uint8_t> boolean_mask{{2, 1, 5, 7}}, block_map{{1, 4, 5, 4}};
    Tensor<int32_t> key_lengths{{2}}, documents{{2, 7}}, positions{{2, 5}};
    Tensor<int64_t> offsets{{2}}, query_documents{{1, 5}}, key_positions{{7}};
    attune_tensor lse_view, weights_view, scores_view, bias_view, t5_view, sinks_view, boolean_view, block_view;
    attune_tensor lengths_view, documents_view, query_documents_view, positions_view, key_positions_view, offsets_view, learned_view;
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_attention_args *args_pointer = &args;
    bool run_without_plan = false;

    GoodAttention() {
        q.fill(0.5f), k.fill(0.25f), v.fill(1), bias.fill(0), t5_table.fill(1), sinks.fill(0), learned.fill(1);
        boolean_mask.fill(1), block_map.fill(1), key_lengths.fill(7), documents.fill(3), query_documents.fill(3);
        positions.fill(4), key_positions.fill(5), offsets.fill(2);
        lse_view = lse.view(), weights_view = weights.view(), scores_view = scores.view(), bias_view = bias.view();
        t5_view = t5_table.view(), sinks_view = sinks.view(), boolean_view = boolean_mask.view(), block_view = block_map.view();
        lengths_view = key_lengths.view(), documents_view = documents.view(), query_documents_view = query_documents.view();
        positions_view = positions.view(), key_positions_view = key_positions.view(), offsets_view = offsets.view(),
        learned_view = learned.view();
        desc.head_dim = 8, desc.value_dim = 6, desc.mask = "causal & documents & blocks(1, 2)";
        desc.score = "t5(8, 16, bidirectional)", desc.position = "rotary(half)";
        attune_attention_args_init(&args);
        args.q = q.view(), args.k = k.view(), args.v = v.view(), args.out = out.view();
        args.lse = &lse_view, args.weights = &weights_view, args.bias = &bias_view, args.boolean_mask = &boolean_view;
        args.key_lengths = &lengths_view, args.offsets = &offsets_view, args.sinks = &sinks_view, args.t5_table = &t5_view;
        args.documents = &documents_view, args.query_documents = &query_documents_view, args.block_map = &block_view;
        args.positions = &positions_view, args.key_positions = &key_positions_view;
        args.scores = &scores_view, args.score_stage = ATTUNE_SCORES_MASKED, args.dropout = 0.25f;
    }
    GoodAttention(const GoodAttention &) = delete;

    attune_status run() {
        attune_attention_plan *plan = nullptr;
        attune_status status = run_without_plan ? ATTUNE_OK : attune_attention_plan_create(&desc, &plan);
        if (status != ATTUNE_OK) return status;
        status = attune_attention_run(plan, args_pointer, &call);
        attune_attention_plan_destroy(plan);
        return status;
    }
    bool outputs_untouched() const { return out.untouched() && lse.untouched() && weights.untouched() && scores.untouched(); }
};

} // namespace attune::test
