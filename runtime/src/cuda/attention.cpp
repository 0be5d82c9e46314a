#include "runtime/src/cuda/attention.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "runtime/src/attention/operands.h"
#include "runtime/src/cuda/cache.h"
#include "runtime/src/cuda/documents.h"
#include "runtime/src/cuda/scratch.h"
#include "runtime/src/cuda/split.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/kernel/registry.h"
#include "runtime/src/softmax/temperature.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

using text::ScoreKind;

/** The bias, stretched over the axes that it leaves out. */
HalideBuffer bias_buffer(const attune_attention_args &args, const AttentionShape &s) {
    const attune_tensor bias = or_stand_in_on_device(args.bias, args.q, ATTUNE_F32, 4);
    if (!args.bias) return HalideBuffer(bias, {1, 1, 1, 1});
    return HalideBuffer(bias, {s.batch, s.heads, s.queries, s.keys});
}

/** Of cells, of tokens, or of ranges of queries: what a compiled-in mask reads, stretched over the axes that it leaves out. */
HalideBuffer mask_buffer(const attune_tensor *given, const attune_tensor &q, attune_type type, std::initializer_list<int64_t> extents) {
    const attune_tensor tensor = or_stand_in_on_device(given, q, type, static_cast<int32_t>(extents.size()));
    return given ? HalideBuffer(tensor, extents) : HalideBuffer(tensor, tensor.rank);
}

HalideBuffer ranges_buffer(const attune_tensor *ranges, const attune_tensor &q, const AttentionShape &s) {
    if (!ranges) return mask_buffer(nullptr, q, ATTUNE_I32, {1, 1, 1});
    return mask_buffer(ranges, q, ATTUNE_I32, {s.batch, ranges->extent[1], ranges->extent[2]});
}

/** 1 where key lengths hold beside the masks, 2 where the kernel's own alone reads them, 0 where there are none. Those of a cache always
 * hold: there is nothing beyond them. */
int32_t use_lengths_of(const attune_attention_plan &plan, const attune_attention_args &args) {
    if (!args.key_lengths) return 0;
    return plan.kernel_mask.names(text::MaskKind::lengths) && !plan.cuda_mask.lengths && !args.cache ? 2 : 1;
}

/** The block table of a cache. */
HalideBuffer pages_buffer(const attune_attention_args &args) {
    const attune_tensor table = or_stand_in_on_device(args.cache ? args.cache->block_table : nullptr, args.q, ATTUNE_I32, 2);
    return HalideBuffer(table, {table.extent[0], table.extent[1]});
}

HalideBuffer vector_buffer(const attune_tensor *given, const attune_tensor &q, attune_type type) {
    const attune_tensor tensor = or_stand_in_on_device(given, q, type, 1);
    return HalideBuffer(tensor, {tensor.extent[0]});
}

/** The arguments of one launch, in the order of the kernels' interface (docs/cuda.md). */
class CudaArguments {
public:
    CudaArguments(const attune_attention_plan &plan, const attune_kernel &kernel, const attune_attention_args &args,
                  const AttentionShape &s, const CudaWindow &window, const attune_tensor &lse, const attune_tensor *document_ranges)
        : kernel_(kernel), q_(args.q, 4), k_(args.k, 4), v_(args.v, 4), lengths_(vector_buffer(args.key_lengths, args.q, ATTUNE_I32)),
          offsets_(vector_buffer(window.use_offsets ? args.offsets : nullptr, args.q, ATTUNE_I32)),
          sinks_(vector_buffer(args.sinks, args.q, ATTUNE_F32)), bias_(bias_buffer(args, s)), pages_(pages_buffer(args)), out_(args.out, 4),
          lse_(lse, 3), use_lengths_(use_lengths_of(plan, args)), use_offsets_(window.use_offsets), use_sinks_(args.sinks != nullptr),
          use_bias_(args.bias != nullptr), use_alibi_(plan.score.find(ScoreKind::alibi) != nullptr),
          use_pages_(args.cache && args.cache->block_table), offset_(window.offset), left_(window.left), right_(window.right),
          keys_(static_cast<int32_t>(s.keys)), scale_(scale_of(args, s.head_dim)), softcap_(softcap_of(plan, args)),
          temperature_(kernel_temperature(args.temperature)), own_(plan.own_kernel), mask_offset_(window.mask_offset), params_(args.params),
          param_count_(args.param_count), query_documents_(mask_buffer(query_documents_of(args), args.q, ATTUNE_I32, {s.batch, s.queries})),
          key_documents_(mask_buffer(args.documents, args.q, ATTUNE_I32, {s.batch, s.keys})),
          attend_(mask_buffer(args.boolean_mask, args.q, ATTUNE_BOOL, {s.batch, s.heads, s.queries, s.keys})),
          document_ranges_(ranges_buffer(document_ranges, args.q, s)) {
        append({nullptr,      q_.get(),      k_.get(),      v_.get(),    lengths_.get(), offsets_.get(), sinks_.get(), bias_.get(),
                pages_.get(), &use_lengths_, &use_offsets_, &use_sinks_, &use_bias_,     &use_alibi_,    &use_pages_,  &offset_,
                &left_,       &right_,       &scale_,       &softcap_,   &temperature_,  &keys_});
        if (kernel.word_channels != 2) return;
        for (HalideBuffer *buffer : {&q_, &k_, &v_, &out_})
            buffer->use_words();
        // A thread's part of the results is a box of these axes.
        out_.cut_innermost(4);
        lse_.add_innermost(1, 0);
    }

    Status run(Call &call) {
        append_own();
        append({out_.get(), lse_.get()});
        return run_kernel(kernel_, arguments_.data(), call);
    }

    /** Of a kernel that splits keys. */
    Status run_split(int32_t keys_per_chunk, HalideBuffer &partial, Call &call) {
        append({&keys_per_chunk});
        append_own();
        append({out_.get(), lse_.get(), partial.get()});
        return run_kernel(kernel_, arguments_.data(), call);
    }

private:
    // Those of every kernel before its outputs, those of kernels of attune_add_kernel alone, and keys_per_chunk and the outputs.
    static constexpr size_t most = 22 + 5 + text::most_cuda_parameters + 4;

    void append(std::initializer_list<void *> more) {
        for (void *one : more)
            arguments_.at(count_++) = one;
    }
    void append_own() {
        if (!own_) return;
        append({&mask_offset_, query_documents_.get(), key_documents_.get(), attend_.get(), document_ranges_.get()});
        for (int32_t i = 0; i < param_count_; ++i)
            append({const_cast<int32_t *>(&params_[i])});
    }

    const attune_kernel &kernel_;
    HalideBuffer q_, k_, v_, lengths_, offsets_, sinks_, bias_, pages_, out_, lse_;
    int32_t use_lengths_, use_offsets_, use_sinks_, use_bias_, use_alibi_, use_pages_;
    int32_t offset_, left_, right_, keys_;
    float scale_, softcap_, temperature_;
    bool own_;
    int32_t mask_offset_;
    const int32_t *params_;
    int32_t param_count_;
    HalideBuffer query_documents_, key_documents_, attend_, document_ranges_;
    std::array<void *, most> arguments_ = {};
    size_t count_ = 0;
};

/** The caller's log-sum-exp, or scratch for it: kernels always write it. */
Status place_lse(const attune_attention_args &args, const AttentionShape &s, DeviceScratch &scratch, attune_tensor &lse) {
    if (args.lse) {
        lse = *args.lse;
        return {};
    }
    const int64_t extents[3] = {s.batch, s.heads, s.queries};
    lse = contiguous_on_device(nullptr, ATTUNE_F32, 3, extents);
    ATTUNE_TRY(check_scratch(lse, "the log-sum-exp"));
    ATTUNE_TRY(scratch.allocate("the log-sum-exp", packed_bytes(lse)));
    lse.data = scratch.data();
    return {};
}

/** One run on one device, whose arguments have been checked. */
class CudaRun {
public:
    CudaRun(const attune_attention_plan &plan, const DeviceCache &cache, const AttentionShape &shape, const CudaWindow &window)
        : plan_(plan), kernel_(kernel_for(plan, cache.args(), shape)), cache_(cache), args_(cache.args()), shape_(shape), window_(window) {}

    Status run(const CudaDevice &device, Call &call) const {
        DeviceScratch scratch(device, call);
        CudaDocuments documents(device, call);
        attune_tensor lse = {};
        ATTUNE_TRY(place_lse(args_, shape_, scratch, lse));
        ATTUNE_TRY(documents.fill(plan_, args_, shape_));
        if (splits_keys(kernel_)) return run_split(device, documents, lse, call);
        ATTUNE_TRY(cache_.append());
        ATTUNE_TRY(documents.find());
        return CudaArguments(plan_, kernel_, args_, shape_, window_, lse, documents.ranges()).run(call);
    }

private:
    Status run_split(const CudaDevice &device, const CudaDocuments &documents, const attune_tensor &lse, Call &call) const {
        const ChunkStateSize size(kernel_, shape_);
        ATTUNE_REQUIRE(size.item() <= INT32_MAX,
                       "q has {} queries, k {} heads and {} keys: the kernel {} would keep {} numbers for a batch item; it can keep {}",
                       shape_.queries, shape_.kv_heads, shape_.keys, kernel_.name, size.item(), INT32_MAX);
        const int64_t at_once = items_at_once(size, shape_.batch);
        DeviceScratch states(device, call);
        ATTUNE_TRY(states.allocate("split-KV decoding", at_once * size.item() * 4));
        ATTUNE_TRY(cache_.append());
        ATTUNE_TRY(documents.find());
        for (int64_t first = 0; first < shape_.batch; first += at_once) {
            AttentionShape shape = shape_;
            shape.batch = std::min(at_once, shape_.batch - first);
            const BatchItems items(args_, lse, documents.ranges(), first, shape.batch);
            HalideBuffer partial = size.buffer(states.data(), shape.batch);
            CudaArguments arguments(plan_, kernel_, items.args(), shape, window_, items.lse(), items.document_ranges());
            ATTUNE_TRY(arguments.run_split(static_cast<int32_t>(keys_per_chunk(shape.keys)), partial, call));
        }
        return {};
    }

    const attune_attention_plan &plan_;
    const attune_kernel &kernel_;
    const DeviceCache &cache_;
    const attune_attention_args &args_;
    const AttentionShape &shape_;
    const CudaWindow &window_;
};

/** A plan is made on one GPU and may run on another. */
Status check_capability(const attune_kernel &kernel, const CudaDevice &device) {
    if (runs_on_cuda(kernel.targets, device.capability)) return {};
    return fail(ATTUNE_UNSUPPORTED, "the plan's kernel {} is built for {}; the call's device is {}", kernel.name, kernel.targets,
                describe(device));
}

} // namespace

Status run_cuda_attention(const attune_attention_plan &plan, const attune_attention_args &args, attune_call *call) {
    AttentionShape shape = {};
    CudaWindow window;
    ATTUNE_TRY(check_cuda_attention(plan, args, shape, window));
    CudaDevice device;
    ATTUNE_TRY(find_cuda_device(device));
    ATTUNE_TRY(check_capability(kernel_for(plan, args, shape), device));
    Call scope(call);
    use_device(device, scope);
    DeviceCache cache(device, scope);
    ATTUNE_TRY(cache.fill(args, shape));
    if (shape.batch == 0 || shape.heads == 0 || shape.queries == 0) return cache.append();
    if (shape.keys == 0) return answer_without_keys(device, args, scope);
    return CudaRun(plan, cache, shape, window).run(device, scope);
}

} // namespace attune::runtime
