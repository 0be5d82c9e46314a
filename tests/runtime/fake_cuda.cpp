#include "fake_cuda.h"

#include <utility>

#include "fake_arguments.h"
#include "runtime/src/kernel/call.h"

namespace attune::runtime {

namespace {

SeenBuffer note(const halide_buffer_t *b) {
    SeenBuffer seen = {b->device, b->host != nullptr, b->device_interface != nullptr, b->flags != 0, b->type.code, b->type.bits, {}, {}};
    for (int32_t i = 0; i < b->dimensions; ++i)
        seen.extents.push_back(b->dim[i].extent), seen.strides.push_back(b->dim[i].stride);
    return seen;
}

int note_attention(const char *name, void **arguments, bool split = false, bool own = false) {
    Arguments a(arguments);
    SeenAttention &seen = seen_cuda();
    if (seen.kernel) {
        std::vector<SeenAttention> earlier = std::move(seen.earlier);
        earlier.push_back(std::move(seen));
        seen = {}, seen.earlier = std::move(earlier);
    }
    const auto *context = a.number<CallContext *>();
    seen.kernel = name, seen.stream = context->cuda_stream, seen.context = context->cuda_context != nullptr;
    for (SeenBuffer *buffer : {&seen.query, &seen.key, &seen.value, &seen.lengths, &seen.offsets, &seen.sinks, &seen.bias, &seen.pages})
        *buffer = note(a.buffer());
    for (int32_t *number : {&seen.use_lengths, &seen.use_offsets, &seen.use_sinks, &seen.use_bias, &seen.use_alibi, &seen.use_pages,
                            &seen.offset, &seen.left, &seen.right})
        *number = a.number<int32_t>();
    for (float *number : {&seen.scale, &seen.softcap, &seen.temperature})
        *number = a.number<float>();
    seen.keys = a.number<int32_t>();
    if (split) seen.keys_per_chunk = a.number<int32_t>();
    if (own) {
        seen.mask_offset = a.number<int32_t>();
        for (SeenBuffer *buffer : {&seen.query_documents, &seen.key_documents, &seen.attend, &seen.document_ranges})
            *buffer = note(a.buffer());
    }
    seen.out = note(a.buffer()), seen.lse = note(a.buffer());
    if (split) seen.partial = note(a.buffer());
    return 0;
}

int note_softmax(const char *name, void **arguments) {
    Arguments a(arguments);
    const auto *context = a.number<CallContext *>();
    seen_cuda().kernel = name, seen_cuda().stream = context->cuda_stream;
    seen_cuda().query = note(a.buffer()), seen_cuda().key = note(a.buffer());
    return 0;
}

int note_write(const char *name, void **arguments) {
    Arguments a(arguments);
    SeenCache seen = {name, a.number<CallContext *>()->cuda_stream, note(a.buffer()), note(a.buffer()), note(a.buffer()), {}, {}, false};
    for (int i = 0; i < 5; ++i)
        seen.numbers.push_back(a.number<int32_t>());
    seen.cache = note(a.buffer()), seen.before_attention = !seen_cuda().kernel;
    seen_cache().push_back(seen);
    return 0;
}

int note_counts(void **arguments) {
    Arguments a(arguments);
    SeenCache seen = {"cache_counts", a.number<CallContext *>()->cuda_stream, {}, note(a.buffer()), {}, {}, {}, false};
    for (int i = 0; i < 3; ++i)
        seen.numbers.push_back(a.number<int32_t>());
    seen.cache = note(a.buffer()), seen.before_attention = !seen_cuda().kernel;
    seen_cache().push_back(seen);
    return 0;
}

int note_ranges(void **arguments) {
    Arguments a(arguments);
    SeenCache seen = {"document_ranges", a.number<CallContext *>()->cuda_stream, note(a.buffer()), note(a.buffer()), {}, {}, {}, false};
    seen.cache = note(a.buffer()), seen.before_attention = !seen_cuda().kernel;
    seen_cache().push_back(seen);
    return 0;
}

attune_kernel kernel(const char *name, const char *operation, const char *schedule, attune_type type, int (*call)(void **)) {
    return {sizeof(attune_kernel), name, operation, schedule, "sm_75,sm_80,compute_80", type, type, 0, 0, "", "", "", 0, nullptr, call,
            ATTUNE_CUDA,           0};
}

attune_kernel tensor_core_kernel(const char *name, const char *targets, const char *schedule, int (*call)(void **),
                                 attune_type type = ATTUNE_BF16) {
    attune_kernel made = kernel(name, "attention", schedule, type, call);
    made.targets = targets, made.head_dim = made.value_dim = 64, made.word_channels = 2;
    return made;
}

} // namespace

SeenAttention &seen_cuda() {
    static SeenAttention seen;
    return seen;
}

std::vector<SeenCache> &seen_cache() {
    static std::vector<SeenCache> seen;
    return seen;
}

const attune_kernel fake_cuda_kernels[] = {
    kernel("simt_f32", "attention", "simt", ATTUNE_F32, [](void **a) { return note_attention("simt_f32", a); }),
    kernel("simt_f16", "attention", "simt", ATTUNE_F16, [](void **a) { return note_attention("simt_f16", a); }),
    tensor_core_kernel("mma_bf16_d64", "sm_80,sm_90,compute_80", "mma", [](void **a) { return note_attention("mma_bf16_d64", a); }),
    tensor_core_kernel("wgmma_bf16_d64", "sm_103a", "wgmma", [](void **a) { return note_attention("wgmma_bf16_d64", a); }),
    tensor_core_kernel(
        "wgmma_f16_d64", "sm_90a,compute_90a", "wgmma", [](void **a) { return note_attention("wgmma_f16_d64", a); }, ATTUNE_F16),
    kernel("simt_softmax", "softmax", "simt", ATTUNE_F32, [](void **a) { return note_softmax("simt_softmax", a); }),
    kernel("simt_softmax_f16", "softmax", "simt", ATTUNE_F16, [](void **a) { return note_softmax("simt_softmax_f16", a); }),
    kernel("warps_softmax", "softmax", "warps", ATTUNE_F32, [](void **a) { return note_softmax("warps_softmax", a); }),
    kernel("wide_softmax", "softmax", "wide", ATTUNE_F32, [](void **a) { return note_softmax("wide_softmax", a); }),
    tensor_core_kernel("split_kv_bf16_d64", "sm_80,sm_90,compute_80", "split_kv",
                       [](void **a) { return note_attention("split_kv_bf16_d64", a, true); }),
    kernel("write_f32", "cache_write", "simt", ATTUNE_F32, [](void **a) { return note_write("write_f32", a); }),
    kernel("write_f16", "cache_write", "simt", ATTUNE_F16, [](void **a) { return note_write("write_f16", a); }),
    kernel("counts", "cache_counts", "simt", ATTUNE_F32, note_counts),
    kernel("ranges", "document_ranges", "simt", ATTUNE_F32, note_ranges)};

const attune_kernel fake_own_cuda_kernel = [] {
    attune_kernel made =
        tensor_core_kernel("own", "sm_80,sm_90,compute_80", "split_kv", [](void **a) { return note_attention("own", a, true, true); });
    made.mask = "documents & causal | lengths";
    return made;
}();

} // namespace attune::runtime
