#include "bench/workload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "bench/half.h"
#include "bench/machine.h"

namespace attune::bench {
namespace {

uint16_t *halves(const Buffer &buffer) { return reinterpret_cast<uint16_t *>(buffer.get()); }

/** Values that the type holds. */
Buffer normal(int64_t count, attune_type type, std::mt19937_64 &random) {
    Buffer buffer = make_buffer(count);
    std::normal_distribution<float> distribution;
    std::generate_n(buffer.get(), count, [&] {
        const float value = distribution(random);
        return type == ATTUNE_F32 ? value : half_value(type, half_bits(type, value));
    });
    return buffer;
}

/** Room for `count` elements of the type. */
Buffer make_buffer_of(attune_type type, int64_t count) { return make_buffer(type == ATTUNE_F32 ? count : (count + 1) / 2); }

/** f32 values as the type. */
Buffer stored(const Buffer &values, attune_type type, int64_t count) {
    Buffer buffer = make_buffer_of(type, count);
    if (type == ATTUNE_F32)
        std::memcpy(buffer.get(), values.get(), static_cast<std::size_t>(count) * sizeof(float));
    else
        std::transform(values.get(), values.get() + count, halves(buffer), [&](float value) { return half_bits(type, value); });
    return buffer;
}

/** An output with all its pages present, so that the first call's time is a call's time. */
Buffer zeros(attune_type type, int64_t count) {
    Buffer buffer = make_buffer_of(type, count);
    std::memset(buffer.get(), 0, static_cast<std::size_t>(count * element_bytes(type)));
    return buffer;
}

// A copy costs some hundred bytes beside its tensors.
constexpr int64_t most_copies = 1 << 16;

} // namespace

Rotation rotation_for(const Case &c) {
    if (!c.memory_bound()) return {c.copies, false};
    const auto wanted = static_cast<int64_t>(std::ceil(4.0 * double(last_level_cache_bytes()) / c.kv_bytes()));
    const auto fitting = static_cast<int64_t>(0.5 * double(available_memory_bytes()) / c.tensor_bytes());
    const int64_t limit = std::clamp<int64_t>(fitting, 1, most_copies);
    return {std::min(wanted, limit), wanted > limit};
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

float Workload::out(int64_t index) const {
    const Buffer &out = copies_[0].out;
    return case_.dtype == ATTUNE_F32 ? out.get()[index] : half_value(case_.dtype, halves(out)[index]);
}

void Workload::spoil_output() const {
    constexpr int all_ones = 0xff; // a NaN in every type
    std::memset(copies_[0].out.get(), all_ones, static_cast<std::size_t>(out_count() * element_bytes(case_.dtype)));
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
