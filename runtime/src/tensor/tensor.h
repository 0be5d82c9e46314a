// Checks of one tensor the caller describes, before anything reads it.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "runtime/src/status.h"

namespace attune::runtime {

enum class Role { input, output };

/** What a tensor argument must be. */
struct TensorRule {
    const char *name;
    attune_type type;
    int32_t min_rank;
    int32_t max_rank;
    Role role;
    bool contiguous; // innermost stride is 1
    attune_device device = ATTUNE_CPU;
};

bool has_elements(const attune_tensor &tensor);

/** What a checked tensor's elements take, without gaps. */
int64_t packed_bytes(const attune_tensor &tensor);

/** The stride that counts: 0 along an axis of extent 0 or 1, whose stride is never used. */
int64_t effective_stride(const attune_tensor &tensor, int32_t axis);

/** An error unless the type is one of `allowed`; `member` is what of `name` it is. */
Status check_type(const attune_type &type, const char *name, std::initializer_list<attune_type> allowed, const char *member = "type");

inline constexpr std::initializer_list<attune_type> all_types = {ATTUNE_F32, ATTUNE_F16,  ATTUNE_BF16, ATTUNE_I32,
                                                                 ATTUNE_I64, ATTUNE_BOOL, ATTUNE_I8};
inline constexpr std::initializer_list<attune_type> float_types = {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16};
inline constexpr std::initializer_list<attune_type> layer_types = {ATTUNE_F32, ATTUNE_BF16};
inline constexpr std::initializer_list<attune_type> integer_types = {ATTUNE_I32, ATTUNE_I64};

/** Whether it is one of attune_device's numbers. */
Status check_device(const attune_device &device, const char *name);

/** Rank, type, device, extents, strides, byte span, pointer and alignment of one tensor. */
Status check_tensor(const attune_tensor &tensor, const TensorRule &rule);

/** An extent that must equal another's: `reason` names it ("the batch of q"). */
struct ExtentRule {
    int64_t extent;
    const char *reason;
};
Status check_extents(const attune_tensor &tensor, const char *name, std::initializer_list<ExtentRule> rules);

/** The first `axes` extents are those of `like`, whose rank is as large at least. */
Status check_same_extents(const attune_tensor &tensor, const char *name, const attune_tensor &like, const char *like_name, int32_t axes);

/** As check_extents, but 1 (broadcast) is right too. */
Status check_broadcast(const attune_tensor &tensor, const char *name, std::initializer_list<ExtentRule> rules);

/** What a tensor of the library's own must be for a kernel to take it: its bytes are counted in 63 bits, its strides in 32. */
Status check_scratch(const attune_tensor &tensor, const char *what);

/** The product of the extents is below 2^62, so that no index of theirs overflows. `name` says whose they are. */
Status check_count(const char *name, std::initializer_list<int64_t> extents);

} // namespace attune::runtime
