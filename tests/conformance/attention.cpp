// ONNX's Attention: https://onnx.ai/onnx/operators/onnx__Attention.html
#include <cmath>
#include <string>
#include <vector>

#include "adapter.h"

namespace attune::conformance {
namespace {

/** One node as one call of attune_attention_run, and the memory that the call's arguments point to. */
class AttentionCall {
public:
    explicit AttentionCall(const OnnxAttention &node) : node_(node) {
        attune_attention_args_init(&args_);
        args_.q = view_heads(node.q, node.q_num_heads), args_.out = view_heads(node.y, node.q_num_heads);
        args_.k = view_heads(node.k, node.kv_num_heads), args_.v = view_heads(node.v, node.kv_num_heads);
        args_.has_scale = node.has_scale, args_.scale = node.scale, args_.softcap = node.softcap;
    }
    AttentionCall(const AttentionCall &) = delete;
    AttentionCall &operator=(const AttentionCall &) = delete;

    attune_status run() {
        attune_status status = append(node_.past_key, node_.present_key, args_.k);
        if (status == ATTUNE_OK) status = append(node_.past_value, node_.present_value, args_.v);
        if (status != ATTUNE_OK) return status;
        set_offset();
        set_attn_mask();
        set_scores();
        return run_plan();
    }

private:
    /** Makes `tokens` those of the past and then those it was, where the node has a present: a cache that is written twice. */
    static attune_status append(const OnnxArray &past, const OnnxArray &present, attune_tensor &tokens) {
        if (!present.data) return ATTUNE_OK;
        attune_cache_write_args write;
        attune_cache_write_args_init(&write);
        write.cache = view(present);
        if (past.data) {
            write.update = view(past);
            const attune_status status = attune_cache_write(&write, nullptr);
            if (status != ATTUNE_OK) return status;
        }
        write.update = tokens;
        const std::vector<int64_t> starts(static_cast<size_t>(tokens.extent[0]), past.data ? past.shape[2] : 0);
        const attune_tensor starts_view = attune_contiguous(const_cast<int64_t *>(starts.data()), ATTUNE_I64, 1, tokens.extent);
        write.starts = &starts_view;
        tokens = write.cache;
        return attune_cache_write(&write, nullptr);
    }

    /** Query 0 stands after the past, or so that the last query stands at the last valid key; without either, at key 0. */
    void set_offset() {
        if (!node_.nonpad_kv_seqlen.data) {
            args_.has_offset = 1, args_.offset = node_.past_key.data ? node_.past_key.shape[2] : 0;
            return;
        }
        lengths_ = view(node_.nonpad_kv_seqlen);
        args_.key_lengths = &lengths_;
        for (int64_t b = 0; b < lengths_.extent[0]; ++b)
            offset_of_item_.push_back(static_cast<const int64_t *>(lengths_.data)[b] - args_.q.extent[2]);
        offsets_ = attune_contiguous(offset_of_item_.data(), ATTUNE_I64, 1, lengths_.extent);
        args_.offsets = &offsets_;
    }

    void set_attn_mask() {
        if (!node_.attn_mask.data) return;
        const bool boolean = node_.attn_mask.type == ATTUNE_BOOL;
        mask_ = boolean ? padded(boolean_, uint8_t{0}) : padded(bias_, -INFINITY);
        (boolean ? args_.boolean_mask : args_.bias) = &mask_;
    }

    /** The mask as rank 4, aligned at the right; keys past its end are masked. */
    template <typename T> attune_tensor padded(std::vector<T> &memory, T masked) const {
        const OnnxArray &given = node_.attn_mask;
        const int64_t keys = args_.k.extent[2], width = given.shape[given.rank - 1];
        int64_t shape[4] = {1, 1, 1, keys}, rows = 1;
        for (int32_t i = 0; i + 1 < given.rank; ++i)
            rows *= shape[4 - given.rank + i] = given.shape[i];
        for (int64_t row = 0; row < rows; ++row)
            for (int64_t key = 0; key < keys; ++key)
                memory.push_back(key < width ? static_cast<const T *>(given.data)[row * width + key] : masked);
        return attune_contiguous(memory.data(), static_cast<attune_type>(given.type), 4, shape);
    }

    void set_scores() {
        if (!node_.qk_matmul_output.data) return;
        scores_ = view(node_.qk_matmul_output);
        constexpr attune_score_stage stages[] = {ATTUNE_SCORES_SCALED, ATTUNE_SCORES_CAPPED, ATTUNE_SCORES_MASKED};
        const int32_t mode = node_.qk_matmul_output_mode;
        if (mode == 3)
            args_.weights = &scores_;
        else
            args_.scores = &scores_, args_.score_stage = stages[mode];
    }

    std::string mask_text() const {
        const bool window = node_.left_window_size >= 0 || node_.right_window_size >= 0;
        const std::string windowed =
            "window(" + std::to_string(node_.left_window_size) + ", " + std::to_string(node_.right_window_size) + ")";
        if (!window) return node_.is_causal ? "causal" : "none";
        return node_.is_causal ? "causal & " + windowed : windowed;
    }

    attune_status run_plan() {
        const std::string mask = mask_text();
        attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
        desc.dtype = args_.q.type, desc.head_dim = args_.q.extent[3], desc.value_dim = args_.v.extent[3], desc.mask = mask.c_str();
        attune_attention_plan *plan = nullptr;
        attune_status status = attune_attention_plan_create(&desc, &plan);
        if (status == ATTUNE_OK) status = attune_attention_run(plan, &args_, nullptr);
        attune_attention_plan_destroy(plan);
        return status;
    }

    const OnnxAttention &node_;
    attune_attention_args args_;
    attune_tensor lengths_, offsets_, mask_, scores_;
    std::vector<int64_t> offset_of_item_;
    std::vector<uint8_t> boolean_;
    std::vector<float> bias_;
};

} // namespace
} // namespace attune::conformance

const char *onnx_attention(const OnnxAttention *node) {
    return attune::conformance::message(attune::conformance::AttentionCall(*node).run());
}
