#include "attention_arguments.h"

#include "temperature.h"

#include <algorithm>
#include <cmath>

#include "interval_table.h"

namespace attune::runtime {

namespace {

// What stands in for tensors that aren't given: kernels are told not to read them, but want memory there.
constexpr int32_t nothing = 0;

attune_tensor or_nothing(const attune_tensor *given, attune_type type) {
    const int64_t extents[4] = {1, 1, 1, 1};
    return given ? *given : attune_contiguous(const_cast<int32_t *>(&nothing), type, 4, extents);
}

float default_scale(int64_t head_dim) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim))); }

} // namespace

Status KernelOffsets::fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (!plan.own_kernel) return {}; // prebuilt kernels don't read them
    const auto narrow = [&](int64_t offset, int32_t &narrowed) {
        return narrow_offset(plan.kernel_mask, args.params, s.queries, s.keys, offset, narrowed);
    };
    if (!args.offsets) return narrow(args.has_offset ? args.offset : 0, one_);
    if (!many_.allocate(static_cast<size_t>(s.batch))) return out_of_memory("offsets", s.batch * 4);
    for (int64_t b = 0; b < s.batch; ++b)
        ATTUNE_TRY(narrow(read_integer(*args.offsets, b), many_.data()[b]));
    return {};
}

ScoreArguments::ScoreArguments(const attune_attention_args &args, const AttentionShape &s, const KernelOffsets &offsets)
    : q(args.q, 4), k(args.k, 4), offsets_(offsets.data(), ATTUNE_I32, {{s.batch, offsets.stride()}}),
      params_(args.params ? args.params : &nothing, ATTUNE_I32, {{std::max(args.param_count, 1), 1}}),
      attend_(or_nothing(args.boolean_mask, ATTUNE_BOOL), {s.batch, s.heads, s.queries, s.keys}),
      bias_(or_nothing(args.bias, ATTUNE_F32), {s.batch, s.heads, s.queries, s.keys}), use_attend_(args.boolean_mask != nullptr),
      use_bias_(args.bias != nullptr), scale_(args.has_scale ? args.scale : default_scale(s.head_dim)), softcap_(args.softcap),
      temperature_(kernel_temperature(args.temperature)) {}

void **ScoreArguments::append(void **next) {
    for (HalideBuffer *buffer : {&offsets_, &params_, &attend_, &bias_})
        *next++ = buffer->get();
    for (int32_t *flag : {&use_attend_, &use_bias_})
        *next++ = flag;
    for (float *number : {&scale_, &softcap_, &temperature_})
        *next++ = number;
    return next;
}

} // namespace attune::runtime
