#include <utility>

#include "runtime/src/cuda/attention.h"
#include "runtime/src/cuda/cache.h"
#include "runtime/src/cuda/limits.h"
#include "runtime/src/error.h"
#include "runtime/src/position/relative_bias.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

using text::ScoreKind;

constexpr int64_t word_alignment = 16; // bytes that a kernel of words reads at once

Status refused(const char *name) {
    return fail(
        ATTUNE_UNSUPPORTED,
        "{} is given; attention on device cuda takes lse, bias, sinks, key_lengths, offsets and a cache beside q, k, v and out, and "
        "what a mask of attune_add_kernel names",
        name);
}

/** What attention on the CPU takes beside this. */
Status check_refused(const attune_attention_args &args) {
    const struct {
        const char *name;
        bool given;
    } arguments[] = {{"weights", args.weights != nullptr},
                     {"scores", args.scores != nullptr},
                     {"document_starts", args.document_starts != nullptr},
                     {"block_map", args.block_map != nullptr},
                     {"t5_table", args.t5_table != nullptr},
                     {"positions", args.positions != nullptr},
                     {"key_positions", args.key_positions != nullptr},
                     {"position_table", args.position_table != nullptr},
                     {"dropout", args.dropout != 0}};
    for (const auto &argument : arguments)
        if (argument.given) return refused(argument.name);
    return {};
}

/** Whether the kernel's mask may read what a term is for: what a mask written in C++ reads isn't known. */
bool reads(const attune_attention_plan &plan, text::MaskKind kind) {
    return plan.own_kernel && (plan.kernel_mask.opaque || plan.kernel_mask.names(kind));
}

Status check_device_documents(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    for (const auto &[tensor, name] : {std::pair{args.documents, "documents"}, {args.query_documents, "query_documents"}})
        if (tensor && !reads(plan, text::MaskKind::documents)) return refused(name);
    ATTUNE_TRY(check_needed(plan, text::MaskKind::documents, args.documents, "documents"));
    return check_document_ids(args, s, ATTUNE_CUDA);
}

/** What the kernel's mask reads. */
Status check_compiled_mask(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (args.param_count != 0 && !plan.own_kernel) return refused("params");
    ATTUNE_TRY(check_params(plan, args));
    if (args.boolean_mask && !reads(plan, text::MaskKind::tensor)) return refused("boolean_mask");
    ATTUNE_TRY(check_needed(plan, text::MaskKind::tensor, args.boolean_mask, "boolean_mask"));
    ATTUNE_TRY(check_score_tensor(args.boolean_mask, "boolean_mask", ATTUNE_BOOL, s, ATTUNE_CUDA));
    return check_device_documents(plan, args, s);
}

/** One i32 for each batch item, on the device: its values are for the kernel to clamp. */
Status check_device_integers(const attune_tensor *tensor, const char *name, const AttentionShape &s) {
    if (!tensor) return {};
    ATTUNE_TRY(check_tensor(*tensor, {name, ATTUNE_I32, 1, 1, Role::input, false, ATTUNE_CUDA}));
    return check_extents(*tensor, name, {{s.batch, "the batch of q"}});
}

/** Kernels of words read 16 bytes at once, wherever a row begins. */
Status check_words(const attune_kernel &kernel, const attune_tensor &t, const char *name) {
    if (kernel.word_channels == 0 || !has_elements(t)) return {};
    ATTUNE_REQUIRE(reinterpret_cast<uintptr_t>(t.data) % word_alignment == 0,
                   "{}.data is {}; it must be a multiple of {} for the kernel {}", name, t.data, word_alignment, kernel.name);
    const int64_t elements = word_alignment / static_cast<int64_t>(attune_type_size(t.type));
    for (int32_t i = 0; i + 1 < t.rank; ++i)
        ATTUNE_REQUIRE(effective_stride(t, i) % elements == 0, "{}.stride[{}] is {}; it must be a multiple of {} for the kernel {}", name,
                       i, t.stride[i], elements, kernel.name);
    return {};
}

const char *name_of_keys(const attune_attention_args &args) { return args.cache ? "cache.k" : "k"; }
const char *name_of_values(const attune_attention_args &args) { return args.cache ? "cache.v" : "v"; }

/** Kernels of words find a key's page by a shift. */
Status check_page_size(const attune_kernel &kernel, const attune_attention_args &args) {
    if (kernel.word_channels == 0 || !args.cache || !args.cache->block_table) return {};
    const int64_t size = args.cache->k.extent[2];
    ATTUNE_REQUIRE((size & (size - 1)) == 0, "cache.k.extent[2] is {}; with a block table it must be a power of two for the kernel {}",
                   size, kernel.name);
    return {};
}

/** `args` are as kernels read them: k and v may be those of the cache. */
Status check_alignments(const attune_kernel &kernel, const attune_attention_args &args) {
    ATTUNE_TRY(check_words(kernel, args.q, "q"));
    ATTUNE_TRY(check_words(kernel, args.k, name_of_keys(args)));
    ATTUNE_TRY(check_words(kernel, args.v, name_of_values(args)));
    ATTUNE_TRY(check_page_size(kernel, args));
    return check_words(kernel, args.out, "out");
}

/** Heads and batch items are axes of the grid, and kernels count elements, or words of two channels, in 32 bits. */
Status check_sizes(const attune_kernel &kernel, const attune_attention_args &args, const AttentionShape &s) {
    constexpr int64_t widest = 256;
    ATTUNE_REQUIRE(s.batch <= most_blocks, "q has {} batch items; on device cuda it must have at most {}", s.batch, most_blocks);
    ATTUNE_REQUIRE(s.heads <= most_blocks, "q has {} heads; on device cuda it must have at most {}", s.heads, most_blocks);
    ATTUNE_REQUIRE(s.value_dim <= widest, "v has {} channels; on device cuda it must have at most {}", s.value_dim, widest);
    const struct {
        const char *name;
        const attune_tensor *tensor;
    } tensors[] = {{"q", &args.q},
                   {name_of_keys(args), &args.k},
                   {name_of_values(args), &args.v},
                   {"out", &args.out},
                   {"bias", args.bias},
                   {"lse", args.lse},
                   {"boolean_mask", args.boolean_mask},
                   {"documents", args.documents},
                   {"query_documents", args.query_documents}};
    for (const auto &[name, tensor] : tensors) {
        if (!tensor) continue;
        const bool of_words = tensor->type == args.q.type && kernel.word_channels == 2;
        ATTUNE_TRY(check_span(*tensor, name, of_words ? 2 : 1));
    }
    return {};
}

Status check_inputs(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_TRY(check_lse(args.lse, s, ATTUNE_CUDA));
    ATTUNE_TRY(check_offset(args));
    ATTUNE_TRY(check_device_integers(args.offsets, "offsets", s));
    ATTUNE_TRY(check_needed(plan, text::MaskKind::lengths, args.key_lengths || args.cache, "key_lengths"));
    ATTUNE_TRY(check_device_integers(args.key_lengths, "key_lengths", s));
    ATTUNE_REQUIRE(args.bias || !plan.score.find(ScoreKind::bias), "the score names bias, which needs a tensor bias; none is given");
    ATTUNE_TRY(check_compiled_mask(plan, args, s));
    ATTUNE_TRY(check_score_tensor(args.bias, "bias", ATTUNE_F32, s, ATTUNE_CUDA));
    ATTUNE_TRY(check_sinks(args.sinks, s, ATTUNE_CUDA));
    return check_numbers(plan, args);
}

Status place_mask(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s, CudaWindow &window) {
    const bool of_items = args.offsets || (args.cache && !args.has_offset), given = args.has_offset || of_items;
    ATTUNE_TRY(check_alignment(plan.run_time_mask, s.queries, s.keys, given));
    ATTUNE_TRY(check_alignment(plan.kernel_mask, s.queries, s.keys, given));
    ATTUNE_TRY(check_score_alignment(plan.score, s.queries, s.keys, given));
    const text::ScoreTerm *alibi = plan.score.find(ScoreKind::alibi);
    CudaPositions at = {s.queries, s.keys, args.has_offset != 0, of_items, args.offset, alibi != nullptr, {}};
    at.compiled_in = plan.kernel_mask.opaque || text::first_unaligned(plan.kernel_mask.mask.root) != nullptr;
    if (alibi) at.alibi = alibi->alignment;
    return place_cuda_mask(plan.cuda_mask, at, window);
}

} // namespace

Status check_cuda_attention(const attune_attention_plan &plan, const attune_attention_args &args, AttentionShape &shape,
                            CudaWindow &window) {
    ATTUNE_TRY(check_refused(args));
    ATTUNE_TRY(check_operands(plan, args, shape));
    const attune_kernel &kernel = kernel_for(plan, args, shape);
    const attune_attention_args seen = attended(args);
    ATTUNE_TRY(check_alignments(kernel, seen));
    ATTUNE_TRY(check_sizes(kernel, seen, shape));
    ATTUNE_TRY(check_inputs(plan, args, shape));
    ATTUNE_TRY(place_mask(plan, args, shape, window));
    return check_overlaps(args, args.offsets);
}

} // namespace attune::runtime
