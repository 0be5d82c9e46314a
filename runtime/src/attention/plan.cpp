#include "runtime/src/attention/plan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "runtime/src/attention/checks.h"
#include "runtime/src/attention/tasks.h"
#include "runtime/src/attention/texts.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/cpu.h"
#include "runtime/src/kernel/own_kernel.h"
#include "runtime/src/kernel/registry.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

constexpr const char *weights_schedule = "vectorized";

Status check_width(const char *name, int64_t width) {
    ATTUNE_REQUIRE(width >= 1 && width <= INT32_MAX, "{} is {}; it must be 1 to {}", name, width, INT32_MAX);
    return {};
}

Status check_desc(const attune_attention_desc *desc) {
    ATTUNE_TRY(check_struct(desc, "desc", "ATTUNE_ATTENTION_DESC_INIT"));
    ATTUNE_TRY(check_type(desc->dtype, "desc", float_types, "dtype"));
    const bool own_cache_dtype = raw_value(desc->cache_dtype) != 0;
    if (own_cache_dtype) ATTUNE_TRY(check_type(desc->cache_dtype, "desc", {desc->dtype, ATTUNE_I8}, "cache_dtype"));
    ATTUNE_TRY(check_device(desc->device, "desc"));
    ATTUNE_TRY(check_width("desc.head_dim", desc->head_dim));
    return desc->value_dim == 0 ? Status() : check_width("desc.value_dim", desc->value_dim);
}

Status check_kernel_width(const char *name, int32_t compiled, int64_t wanted) {
    ATTUNE_REQUIRE(compiled == 0 || compiled == wanted, "desc.{} is {}; the kernel is compiled for {}", name, wanted, compiled);
    return {};
}

// Queries up to which decoding is faster than flash attention, however many heads share keys: a tile of flash takes as long for one as for
// 8 or 16, and decoding, which reads keys once for all of a group, longer with each; by tiles, as long for 16 rows as for one. Three and
// more want keys enough to pay for what each query's row costs once, and more than 8 more of them, since they gain less. Where flash
// multiplies bf16 in pairs or tiles decoding wins fewer, and fewer yet over int8, which it makes pairs of for each row. (With a cache M is
// its capacity: what is chosen never depends on how long a sequence has become.)
constexpr int64_t always_decoded_queries = 2, least_keys_per_query = 8, least_keys_per_query_of_many = 32;
constexpr DecodedQueries by_numbers = {8, 12}, by_pairs = {8, 10}, by_tiles = {16, 16}, beside_more_products = {8, 8};

DecodedQueries decoded_queries(const attune_kernel &kernel, const attune_attention_plan &plan) {
    const CpuClass cpu = cpu_class();
    if (kernel.dtype != ATTUNE_BF16 || cpu < CpuClass::avx512_amx) return by_numbers;
    if (kernel.cache_dtype == ATTUNE_I8) return beside_more_products;
    if (cpu > CpuClass::avx512_amx) return by_pairs;
    const bool fills_tiles = has_code_for(kernel.targets, cpu) && plan.head_dim % key_channels_of_decode_tiles == 0 &&
                             plan.value_dim % value_channels_of_decode_tiles == 0;
    return fills_tiles ? by_tiles : beside_more_products;
}

const char *tiled_schedule(attune_type dtype) {
    return dtype == ATTUNE_F32 ? "flash_bf16x3" : dtype == ATTUNE_F16 ? "flash_bf16x2" : nullptr;
}

// Queries from which on numbers are multiplied by tiles, as several of bf16 each: what that costs a key and a query once is gained with
// every other, and more of f16, which has fewer products. Under masks there are fewer others, by half under a causal one; channels that
// fill no tiles are multiplied as zeros. Measured on Granite Rapids. Of few channels it takes longer in any case.
int64_t least_tiled_queries(const attune_attention_plan &plan) {
    constexpr int64_t channels_of_tile = 32, least_channels = 48;
    const bool fills_tiles = plan.head_dim % channels_of_tile == 0 && plan.value_dim % channels_of_tile == 0;
    if (!fills_tiles && std::min(plan.head_dim, plan.value_dim) < least_channels) return std::numeric_limits<int64_t>::max();
    const bool masked = plan.run_time_mask.mask.root.kind != text::MaskKind::none;
    const int64_t least = plan.kernel->dtype == ATTUNE_F16 ? 128 : 256;
    return least * (fills_tiles ? 1 : 2) * (masked ? 2 : 1);
}

Status choose_kernel(const attune_attention_desc &desc, attune_attention_plan &plan) {
    if (desc.kernel) {
        ATTUNE_TRY(take_kernel(desc, plan));
        return check_machine(*plan.kernel);
    }
    const char *schedule = desc.schedule ? desc.schedule : default_schedule, *tiled = tiled_schedule(desc.dtype);
    const auto query = [&](const char *name) {
        return KernelQuery{"attention", name, desc.dtype, plan.head_dim, plan.value_dim, desc.cache_dtype == ATTUNE_I8};
    };
    ATTUNE_TRY(find_kernel(query(schedule), plan.kernel));
    // A library without one of these does with `kernel`.
    const auto find_if_linked = [&](const char *name, const attune_kernel *&found) {
        if (!find_kernel(query(name), found).ok()) found = nullptr;
    };
    if (!desc.schedule) {
        find_if_linked(decode_schedule, plan.decode_kernel);
        if (plan.decode_kernel) plan.decoded_queries = decoded_queries(*plan.decode_kernel, plan);
        if (tiled && cpu_class() == CpuClass::avx512_amx) find_if_linked(tiled, plan.tiled_kernel);
    } else if (std::strcmp(schedule, decode_schedule) == 0 || (tiled && std::strcmp(schedule, tiled) == 0)) {
        find_if_linked(default_schedule, plan.steady_kernel);
    }
    return {};
}

/** The weights' kernel of the plan's own schedule, or else the usual one. A missing one matters only to a run that wants weights. */
void choose_weights_kernel(attune_attention_plan &plan) {
    if (plan.kernel_mask.opaque) {
        plan.weights_status = fail(
            ATTUNE_UNSUPPORTED, "weights and scores can't be given for the kernel {}: its mask is compiled in from C++", plan.kernel->name);
        return;
    }
    for (const char *schedule : {plan.kernel->schedule, weights_schedule}) {
        const KernelQuery query = {"attention_weights", schedule,       plan.kernel->dtype,
                                   plan.head_dim,       plan.value_dim, plan.kernel->cache_dtype == ATTUNE_I8};
        plan.weights_status = find_kernel(query, plan.weights_kernel);
        if (plan.weights_status.ok()) return;
    }
}

// On ATTUNE_CUDA as many (query, query head) pairs of a key/value head as its tile has, where there are keys to split.
constexpr int64_t most_decoded_rows_on_cuda = 16, least_split_keys = 512;

// The weights' kernel adds up a dot product as flash does, and decoding in another order. Below this temperature what rounding makes of
// that could give weights that aren't those of the output.
constexpr float least_decoded_temperature = 1e-3f;

bool is_decoding(const attune_attention_plan &plan, const AttentionShape &shape) {
    if (shape.kv_heads == 0) return false; // nor are there queries
    if (plan.device == ATTUNE_CUDA)
        return shape.queries * (shape.heads / shape.kv_heads) <= most_decoded_rows_on_cuda && shape.keys >= least_split_keys;
    const auto up_to = [&](int64_t most, int64_t keys_per_query) {
        return shape.queries <= most && shape.keys >= keys_per_query * shape.queries;
    };
    return shape.queries <= always_decoded_queries || up_to(plan.decoded_queries.over_few_keys, least_keys_per_query) ||
           up_to(plan.decoded_queries.most, least_keys_per_query_of_many);
}

} // namespace

const attune_kernel &kernel_for(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape) {
    const bool weights = args.weights || args.scores;
    if (plan.steady_kernel && weights && args.temperature < least_decoded_temperature) return *plan.steady_kernel;
    if (plan.decode_kernel && !weights && is_decoding(plan, shape)) return *plan.decode_kernel;
    const bool tiled = plan.tiled_kernel && !weights && shape.queries >= plan.least_tiled_queries;
    return tiled ? *plan.tiled_kernel : *plan.kernel;
}

Status take_kernel(const attune_attention_desc &desc, attune_attention_plan &plan) {
    const attune_kernel &kernel = *desc.kernel;
    ATTUNE_TRY(check_kernel(kernel, "attention", desc.device));
    ATTUNE_REQUIRE(kernel.dtype == desc.dtype, "desc.dtype is {}; the kernel {} is compiled for {}", attune_type_name(desc.dtype),
                   kernel.name, attune_type_name(kernel.dtype));
    ATTUNE_REQUIRE((desc.cache_dtype == ATTUNE_I8) == (kernel.cache_dtype == ATTUNE_I8),
                   "desc.cache_dtype is {}; the kernel {} is compiled for keys and values of {}",
                   attune_type_name(desc.cache_dtype ? desc.cache_dtype : desc.dtype), kernel.name, attune_type_name(kernel.cache_dtype));
    ATTUNE_TRY(check_kernel_width("head_dim", kernel.head_dim, plan.head_dim));
    ATTUNE_TRY(check_kernel_width("value_dim", kernel.value_dim, plan.value_dim));
    ATTUNE_REQUIRE(!desc.schedule || std::strcmp(desc.schedule, kernel.schedule) == 0,
                   "desc.schedule is \"{}\"; the kernel {} is compiled with \"{}\"", desc.schedule, kernel.name, kernel.schedule);
    plan.kernel = &kernel;
    plan.own_kernel = !is_prebuilt(kernel);
    return {};
}

Status make_plan(const attune_attention_desc *desc, attune_attention_plan &plan) {
    ATTUNE_TRY(check_cpu_setting());
    ATTUNE_TRY(check_desc(desc));
    plan.head_dim = desc->head_dim;
    plan.value_dim = desc->value_dim > 0 ? desc->value_dim : desc->head_dim;
    plan.device = desc->device;
    if (plan.device == ATTUNE_CUDA) return make_cuda_plan(*desc, plan);
    ATTUNE_TRY(choose_kernel(*desc, plan));
    ATTUNE_TRY(take_texts(*desc, plan));
    plan.least_tiled_queries = least_tiled_queries(plan);
    plan.program = compile_masks(&plan.run_time_mask.intervals, &plan.kernel_mask.intervals);
    choose_weights_kernel(plan);
    return {};
}

} // namespace attune::runtime

using attune::runtime::guarded;
using attune::runtime::Status;

extern "C" attune_status attune_attention_plan_create(const attune_attention_desc *desc, attune_attention_plan **plan) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(plan != nullptr, "plan is NULL; it must point to where the plan goes");
        auto made = std::make_unique<attune_attention_plan>();
        ATTUNE_TRY(attune::runtime::make_plan(desc, *made));
        *plan = made.release();
        return {};
    });
}

extern "C" void attune_attention_plan_destroy(attune_attention_plan *plan) { delete plan; }

extern "C" const attune_kernel *attune_attention_plan_kernel_for(const attune_attention_plan *plan, int64_t queries, int64_t heads,
                                                                 int64_t kv_heads, int64_t keys) {
    if (!plan || queries < 0 || keys < 0 || kv_heads < 1 || heads < kv_heads || heads % kv_heads != 0) return nullptr;
    if (keys > attune::runtime::most_tokens || queries > attune::runtime::most_tokens - keys) return nullptr;
    attune::runtime::AttentionShape shape = {};
    shape.queries = queries, shape.heads = heads, shape.kv_heads = kv_heads, shape.keys = keys;
    return &attune::runtime::kernel_for(*plan, {}, shape);
}

extern "C" const attune_kernel *attune_attention_plan_kernel(const attune_attention_plan *plan) { return plan ? plan->kernel : nullptr; }
