#include "bench/workload.h"

#include <random>

#include "bench/elements.h"

namespace attune::bench {

Rotation rotation_for(const Case &c) {
    if (!c.memory_bound()) return {c.copies, false};
    return rotation_over(c.kv_bytes(), c.tensor_bytes());
}

Workload::Workload(const Case &c, int64_t copies) : case_(c) {
    std::mt19937_64 random(0);
    const int64_t q = c.batch * c.query_heads * c.queries * c.head_dim, k = c.batch * c.kv_heads * c.keys * c.head_dim;
    values_ = {normal(q, c.dtype, random), normal(k, c.dtype, random), normal(v_count(), c.dtype, random), nullptr};
    while (this->copies() < copies)
        copies_.push_back({stored(values_.q, c.dtype, q), stored(values_.k, c.dtype, k), stored(values_.v, c.dtype, v_count()),
                           zeros(c.dtype, out_count())});
    make_mask_data();
}

float Workload::out(int64_t index) const { return element(copies_[0].out, case_.dtype, index); }

void Workload::spoil_output() const { spoil(copies_[0].out, case_.dtype, out_count()); }

void Workload::make_mask_data() {
    const Case &c = case_;
    if (c.documents > 0) {
        const int64_t length = (c.keys + c.documents - 1) / c.documents;
        for (int64_t j = 0; j < c.keys; ++j)
            documents_.push_back(static_cast<int32_t>(j / length));
        documents_view_ = TensorView(documents_.data(), {1, c.keys});
    }
    if (c.key_length > 0) {
        key_lengths_.assign(static_cast<std::size_t>(c.batch), static_cast<int32_t>(c.key_length));
        key_lengths_view_ = TensorView(key_lengths_.data(), {c.batch});
    }
    if (!c.tensor) return;
    tensor_.reset(new bool[static_cast<std::size_t>(c.queries * c.keys)]);
    for (int64_t i = 0; i < c.queries; ++i)
        for (int64_t j = 0; j < c.keys; ++j)
            tensor_[static_cast<std::size_t>(i * c.keys + j)] = tensor_allows(i, j);
    tensor_view_ = TensorView(tensor_.get(), {1, 1, c.queries, c.keys});
}

attune_tensor Workload::view(const Buffer &buffer, std::initializer_list<int64_t> extents) const {
    return attune_contiguous(buffer.get(), case_.dtype, static_cast<int32_t>(extents.size()), extents.begin());
}

AttentionArgs Workload::args(int64_t copy) const {
    const Tensors &t = copies_[static_cast<std::size_t>(copy)];
    const Case &c = case_;
    AttentionArgs args(view(t.q, {c.batch, c.query_heads, c.queries, c.head_dim}), view(t.k, {c.batch, c.kv_heads, c.keys, c.head_dim}),
                       view(t.v, {c.batch, c.kv_heads, c.keys, c.value_dim}),
                       view(t.out, {c.batch, c.query_heads, c.queries, c.value_dim}));
    if (c.documents > 0) args.documents = &documents_view_;
    if (c.key_length > 0) args.key_lengths = &key_lengths_view_;
    if (c.tensor) args.boolean_mask = &tensor_view_;
    return args;
}

} // namespace attune::bench
