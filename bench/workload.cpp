#include "bench/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "bench/machine.h"

namespace attune::bench {
namespace {

Buffer normal(int64_t count, std::mt19937_64 &random) {
    Buffer buffer = make_buffer(count);
    std::normal_distribution<float> distribution;
    std::generate_n(buffer.get(), count, [&] { return distribution(random); });
    return buffer;
}

Buffer clone(const Buffer &from, int64_t count) {
    Buffer buffer = make_buffer(count);
    std::memcpy(buffer.get(), from.get(), static_cast<std::size_t>(count) * sizeof(float));
    return buffer;
}

/** An output with all its pages present, so that the first call's time is a call's time. */
Buffer zeros(int64_t count) {
    Buffer buffer = make_buffer(count);
    std::fill_n(buffer.get(), count, 0.0f);
    return buffer;
}

} // namespace

Rotation rotation_for(const Case &c) {
    if (!c.memory_bound()) return {1, false};
    const auto wanted = static_cast<int64_t>(std::ceil(4.0 * double(last_level_cache_bytes()) / c.kv_bytes()));
    const auto limit = std::max<int64_t>(1, static_cast<int64_t>(0.5 * double(available_memory_bytes()) / c.tensor_bytes()));
    return {std::min(wanted, limit), wanted > limit};
}

Workload::Workload(const Case &c, int64_t copies) : case_(c) {
    std::mt19937_64 random(0);
    const int64_t q = c.batch * c.query_heads * c.queries * c.head_dim, k = c.batch * c.kv_heads * c.keys * c.head_dim;
    Tensors first{normal(q, random), normal(k, random), normal(v_count(), random), zeros(out_count())};
    copies_.push_back(std::move(first));
    while (this->copies() < copies) {
        const Tensors &from = copies_[0];
        Tensors tensors{clone(from.q, q), clone(from.k, k), clone(from.v, v_count()), zeros(out_count())};
        copies_.push_back(std::move(tensors));
    }
    make_mask_data();
}

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

AttentionArgs Workload::args(int64_t copy) const {
    const Tensors &t = copies_[static_cast<std::size_t>(copy)];
    const Case &c = case_;
    AttentionArgs args(TensorView(t.q.get(), {c.batch, c.query_heads, c.queries, c.head_dim}),
                       TensorView(t.k.get(), {c.batch, c.kv_heads, c.keys, c.head_dim}),
                       TensorView(t.v.get(), {c.batch, c.kv_heads, c.keys, c.value_dim}),
                       TensorView(t.out.get(), {c.batch, c.query_heads, c.queries, c.value_dim}));
    if (c.documents > 0) args.documents = &documents_view_;
    if (c.key_length > 0) args.key_lengths = &key_lengths_view_;
    if (c.tensor) args.boolean_mask = &tensor_view_;
    return args;
}

} // namespace attune::bench
