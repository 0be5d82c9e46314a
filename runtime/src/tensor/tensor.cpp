#include "runtime/src/tensor/tensor.h"

#include <string>

#include "runtime/src/error.h"
#include "runtime/src/tensor/overlap.h"

namespace attune::runtime {

namespace {

constexpr int64_t max_int32 = INT32_MAX; // Halide's extents and strides are int32 and would wrap silently

bool is_type(const attune_type &type) { return raw_value(type) >= ATTUNE_F32 && raw_value(type) <= ATTUNE_I8; }

/** "f32, f16 or bf16". */
std::string names_of(std::initializer_list<attune_type> types) {
    std::string names;
    for (const attune_type &type : types) {
        const bool first = &type == types.begin(), last = &type + 1 == types.end();
        names += formatted("{}{}", first ? "" : last ? " or " : ", ", attune_type_name(type));
    }
    return names;
}

Status check_kind(const attune_tensor &t, const TensorRule &rule) {
    if (rule.min_rank == rule.max_rank)
        ATTUNE_REQUIRE(t.rank == rule.min_rank, "{}.rank is {}; it must be {}", rule.name, t.rank, rule.min_rank);
    ATTUNE_REQUIRE(t.rank >= rule.min_rank && t.rank <= rule.max_rank, "{}.rank is {}; it must be {} to {}", rule.name, t.rank,
                   rule.min_rank, rule.max_rank);
    ATTUNE_TRY(check_type(t.type, rule.name, {rule.type}));
    ATTUNE_TRY(check_device(t.device, rule.name));
    ATTUNE_REQUIRE(t.device == rule.device, "{}.device is {}; it must be {}, where this call runs", rule.name, attune_device_name(t.device),
                   attune_device_name(rule.device));
    return {};
}

Status check_shape(const attune_tensor &t, const char *name) {
    int64_t count = 1;
    for (int32_t i = 0; i < t.rank; ++i) {
        ATTUNE_REQUIRE(t.extent[i] >= 0 && t.extent[i] <= max_int32, "{}.extent[{}] is {}; it must be 0 to {}", name, i, t.extent[i],
                       max_int32);
        ATTUNE_REQUIRE(!__builtin_mul_overflow(count, t.extent[i] > 0 ? t.extent[i] : 1, &count),
                       "{} has more elements than 64 bits count; its extents' product must be below 2^63", name);
    }
    return {};
}

Status check_stride(const attune_tensor &t, const TensorRule &rule, int32_t axis) {
    const int64_t stride = t.stride[axis];
    ATTUNE_REQUIRE(stride >= -max_int32 && stride <= max_int32, "{}.stride[{}] is {}; it must be -{} to {} elements", rule.name, axis,
                   stride, max_int32, max_int32);
    ATTUNE_REQUIRE(rule.role == Role::input || stride > 0, "{}.stride[{}] is {}; an output's strides must be 1 or more", rule.name, axis,
                   stride);
    if (rule.contiguous && axis == t.rank - 1)
        ATTUNE_REQUIRE(stride == 1, "{}.stride[{}] is {}; the innermost axis must be contiguous, with stride 1", rule.name, axis, stride);
    return {};
}

Status check_memory(const attune_tensor &t, const TensorRule &rule) {
    ATTUNE_REQUIRE(t.data != nullptr, "{}.data is NULL; the tensor has elements", rule.name);
    const size_t size = attune_type_size(t.type);
    ATTUNE_REQUIRE(reinterpret_cast<uintptr_t>(t.data) % size == 0, "{}.data is {}; it must be a multiple of {}, the size of {}", rule.name,
                   t.data, size, attune_type_name(t.type));
    ATTUNE_REQUIRE(in_address_space(t), "{} reaches outside the address space; its extents times strides must fit in 63 bits of bytes",
                   rule.name);
    ATTUNE_REQUIRE(rule.role == Role::input || !overlaps_itself(t), "{}'s strides make elements share memory; an output's may not",
                   rule.name);
    return {};
}

} // namespace

Status check_device(const attune_device &device, const char *name) {
    const int given = raw_value(device);
    if (given == ATTUNE_CPU || given == ATTUNE_CUDA) return {};
    return fail(ATTUNE_UNSUPPORTED, "{}.device is {}; it must be ATTUNE_CPU ({}) or ATTUNE_CUDA ({})", name, given,
                static_cast<int>(ATTUNE_CPU), static_cast<int>(ATTUNE_CUDA));
}

bool has_elements(const attune_tensor &tensor) {
    for (int32_t i = 0; i < tensor.rank; ++i)
        if (tensor.extent[i] == 0) return false;
    return true;
}

int64_t packed_bytes(const attune_tensor &tensor) {
    int64_t bytes = static_cast<int64_t>(attune_type_size(tensor.type));
    for (int32_t i = 0; i < tensor.rank; ++i)
        bytes *= tensor.extent[i];
    return bytes;
}

int64_t effective_stride(const attune_tensor &tensor, int32_t axis) { return tensor.extent[axis] > 1 ? tensor.stride[axis] : 0; }

Status check_type(const attune_type &type, const char *name, std::initializer_list<attune_type> allowed, const char *member) {
    const int given = raw_value(type);
    for (const attune_type &one : allowed)
        if (given == raw_value(one)) return {};
    return fail(ATTUNE_INVALID_ARGUMENT, "{}.{} is {}; it must be {}", name, member,
                is_type(type) ? attune_type_name(type) : std::to_string(given), names_of(allowed));
}

Status check_tensor(const attune_tensor &tensor, const TensorRule &rule) {
    ATTUNE_TRY(check_kind(tensor, rule));
    ATTUNE_TRY(check_shape(tensor, rule.name));
    if (!has_elements(tensor)) return {};
    for (int32_t i = 0; i < tensor.rank; ++i)
        if (tensor.extent[i] > 1) ATTUNE_TRY(check_stride(tensor, rule, i));
    return check_memory(tensor, rule);
}

Status check_extents(const attune_tensor &tensor, const char *name, std::initializer_list<ExtentRule> rules) {
    int32_t axis = 0;
    for (const ExtentRule &rule : rules) {
        ATTUNE_REQUIRE(tensor.extent[axis] == rule.extent, "{}.extent[{}] is {}; it must be {}, {}", name, axis, tensor.extent[axis],
                       rule.extent, rule.reason);
        ++axis;
    }
    return {};
}

Status check_same_extents(const attune_tensor &tensor, const char *name, const attune_tensor &like, const char *like_name, int32_t axes) {
    for (int32_t i = 0; i < axes; ++i)
        ATTUNE_REQUIRE(tensor.extent[i] == like.extent[i], "{}.extent[{}] is {}; it must be {}, as in {}", name, i, tensor.extent[i],
                       like.extent[i], like_name);
    return {};
}

Status check_broadcast(const attune_tensor &tensor, const char *name, std::initializer_list<ExtentRule> rules) {
    int32_t axis = 0;
    for (const ExtentRule &rule : rules) {
        ATTUNE_REQUIRE(tensor.extent[axis] == rule.extent || tensor.extent[axis] == 1, "{}.extent[{}] is {}; it must be 1 or {}, {}", name,
                       axis, tensor.extent[axis], rule.extent, rule.reason);
        ++axis;
    }
    return {};
}

Status check_scratch(const attune_tensor &tensor, const char *what) {
    int64_t elements = 1; // from one step of an axis to the next
    for (int32_t i = tensor.rank - 1; i >= 0; --i) {
        const int64_t extent = tensor.extent[i];
        ATTUNE_REQUIRE(extent <= 1 || elements <= INT32_MAX,
                       "{} would have {} elements for each of the {} along axis {}; at most {} are supported", what, elements, extent, i,
                       INT32_MAX);
        ATTUNE_REQUIRE(!__builtin_mul_overflow(elements, extent > 0 ? extent : 1, &elements), "{} would have 2^63 elements or more", what);
    }
    int64_t bytes = 0;
    ATTUNE_REQUIRE(!__builtin_mul_overflow(elements, static_cast<int64_t>(attune_type_size(tensor.type)), &bytes),
                   "{} would have 2^63 bytes or more", what);
    return {};
}

Status check_count(const char *name, std::initializer_list<int64_t> extents) {
    int64_t count = 1;
    for (int64_t extent : extents)
        ATTUNE_REQUIRE(!__builtin_mul_overflow(count, extent > 0 ? extent : 1, &count) && count < (int64_t{1} << 62),
                       "{} has 2^62 elements or more; fewer are supported", name);
    return {};
}

} // namespace attune::runtime

extern "C" {

const char *attune_type_name(attune_type type) {
    switch (attune::runtime::raw_value(type)) {
    case ATTUNE_F32:
        return "f32";
    case ATTUNE_F16:
        return "f16";
    case ATTUNE_BF16:
        return "bf16";
    case ATTUNE_I32:
        return "i32";
    case ATTUNE_I64:
        return "i64";
    case ATTUNE_BOOL:
        return "bool";
    case ATTUNE_I8:
        return "i8";
    }
    return "of no known type";
}

size_t attune_type_size(attune_type type) {
    switch (attune::runtime::raw_value(type)) {
    case ATTUNE_F32:
    case ATTUNE_I32:
        return 4;
    case ATTUNE_F16:
    case ATTUNE_BF16:
        return 2;
    case ATTUNE_I64:
        return 8;
    case ATTUNE_BOOL:
    case ATTUNE_I8:
        return 1;
    }
    return 0;
}

const char *attune_device_name(attune_device device) {
    const int number = attune::runtime::raw_value(device);
    return number == ATTUNE_CPU ? "cpu" : number == ATTUNE_CUDA ? "cuda" : "no known device";
}

attune_tensor attune_contiguous(void *data, attune_type type, int32_t rank, const int64_t *extent) {
    attune_tensor tensor = {};
    tensor.data = data;
    tensor.type = type;
    tensor.rank = rank;
    int64_t stride = 1;
    for (int32_t i = (rank < ATTUNE_MAX_RANK ? rank : ATTUNE_MAX_RANK) - 1; i >= 0 && extent; --i) {
        tensor.extent[i] = extent[i];
        tensor.stride[i] = stride;
        // An extent that overflows is refused by the call that gets this view; here it mustn't be undefined.
        if (__builtin_mul_overflow(stride, extent[i] > 0 ? extent[i] : 1, &stride)) stride = INT64_MAX;
    }
    return tensor;
}

} // extern "C"
