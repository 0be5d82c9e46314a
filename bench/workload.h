// The tensors a case is timed on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attune/attune.hpp"
#include "bench/buffer.h"
#include "bench/cases.h"
#include "bench/machine.h"

namespace attune::bench {

/** Enough copies that K and V outgrow four times the last-level cache, in at most half of the available memory; the case's own number
 * where memory isn't the limit. */
Rotation rotation_for(const Case &c);

/** Unit-normal Q, K and V of the case's type, the same in every copy, and an output for each. */
class Workload {
public:
    /** Throws std::bad_alloc. */
    Workload(const Case &c, int64_t copies);
    Workload(const Workload &) = delete; // the arguments it gives point into it
    Workload &operator=(const Workload &) = delete;

    int64_t copies() const { return static_cast<int64_t>(copies_.size()); }
    AttentionArgs args(int64_t copy) const;
    /** The values of all copies, as f32. */
    const float *q() const { return values_.q.get(); }
    const float *k() const { return values_.k.get(); }
    const float *v() const { return values_.v.get(); }
    /** Element `index` of the output of copy 0. */
    float out(int64_t index) const;
    /** Fills that output with NaN. */
    void spoil_output() const;
    int64_t out_count() const { return case_.batch * case_.query_heads * case_.queries * case_.value_dim; }
    int64_t v_count() const { return case_.batch * case_.kv_heads * case_.keys * case_.value_dim; }

private:
    void make_mask_data();
    attune_tensor view(const Buffer &buffer, std::initializer_list<int64_t> extents) const;

    struct Tensors {
        Buffer q, k, v, out; // of the case's type, whatever Buffer says
    };
    Case case_;
    Tensors values_; // f32; no output
    std::vector<Tensors> copies_;
    // What the case's mask reads, and views of it that arguments point to.
    std::vector<int32_t> documents_, key_lengths_;
    std::unique_ptr<bool[]> tensor_;
    TensorView documents_view_, key_lengths_view_, tensor_view_;
};

} // namespace attune::bench
