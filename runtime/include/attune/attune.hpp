// Attune's C++ interface: a thin layer on attune.h. Errors are values; nothing throws but std::bad_alloc, where a string or list has no
// memory.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attune/attune.h"

namespace attune {

/** What a call returned: its code, and on failure one sentence that names the argument, its value and the limit. */
struct [[nodiscard]] Status {
    attune_status code = ATTUNE_OK;
    std::string message;

    bool ok() const { return code == ATTUNE_OK; }
    explicit operator bool() const { return ok(); }
    static Status from(attune_status code) { return {code, code == ATTUNE_OK ? "" : attune_error_message()}; }
};

/** A value, or the Status that says why there is none. */
template <typename T> class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}
    Result(Status status) : status_(std::move(status)) {}
    bool ok() const { return value_.has_value(); }
    explicit operator bool() const { return ok(); }
    const Status &status() const { return status_; }
    T &value() & { return *value_; }
    const T &value() const & { return *value_; }
    T &&value() && { return std::move(*value_); }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }
    T &operator*() & { return *value_; }
    const T &operator*() const & { return *value_; }
    T &&operator*() && { return std::move(*value_); }

private:
    std::optional<T> value_;
    Status status_;
};

template <typename T> constexpr attune_type type_of() {
    using U = std::remove_const_t<T>;
    static_assert(std::is_same_v<U, float> || std::is_same_v<U, bool> || std::is_same_v<U, int8_t> || std::is_same_v<U, int32_t> ||
                      std::is_same_v<U, int64_t>,
                  "attune: no tensor type for this element type");
    if constexpr (std::is_same_v<U, float>) return ATTUNE_F32;
    if constexpr (std::is_same_v<U, bool>) return ATTUNE_BOOL;
    if constexpr (std::is_same_v<U, int8_t>) return ATTUNE_I8;
    if constexpr (std::is_same_v<U, int32_t>) return ATTUNE_I32;
    return ATTUNE_I64;
}

/** A view of memory the caller owns: pointer, type, extents and strides in elements, outermost axis first. */
struct TensorView : attune_tensor {
    TensorView() : attune_tensor{} {}
    TensorView(const attune_tensor &tensor) : attune_tensor(tensor) {}

    /** Contiguous (C-order) memory of the given extents: `TensorView(q, {batch, heads, tokens, dim})`. */
    template <typename T> TensorView(T *memory, std::initializer_list<int64_t> extents)
        : attune_tensor(attune_contiguous(const_cast<std::remove_const_t<T> *>(memory), type_of<T>(), static_cast<int32_t>(extents.size()),
                                          extents.begin())) {}

    /** Memory with strides of its own, in elements: as many as extents. With another number rank is -1, which every call refuses. */
    template <typename T> TensorView(T *memory, std::initializer_list<int64_t> extents, std::initializer_list<int64_t> strides)
        : TensorView(memory, extents) {
        int axis = 0;
        for (int64_t s : strides)
            if (axis < ATTUNE_MAX_RANK) stride[axis++] = s;
        if (strides.size() != extents.size()) rank = -1;
    }

    /** Contiguous memory of a type that C++ has no name for, such as ATTUNE_BF16. */
    TensorView(void *memory, attune_type element_type, std::initializer_list<int64_t> extents)
        : attune_tensor(attune_contiguous(memory, element_type, static_cast<int32_t>(extents.size()), extents.begin())) {}
};

/** `view`, whose pointer is one of the GPU's: `on_cuda({pointer, {batch, heads, tokens, dim}})`. */
inline TensorView on_cuda(TensorView view) {
    view.device = ATTUNE_CUDA;
    return view;
}

/** Whether kernels can run on ATTUNE_CUDA here; if not, why. See attune_cuda_status. */
inline Status cuda_status() { return Status::from(attune_cuda_status()); }
inline std::string cuda_device_name() { return attune_cuda_device_name(); }

/** How one call runs: see attune_call. */
struct Call : attune_call {
    Call() : attune_call ATTUNE_CALL_INIT {}
    explicit Call(int32_t thread_count) : Call() { threads = thread_count; }
    /** Of calls on ATTUNE_CUDA: `Call::on(stream)`, a CUstream or cudaStream_t. */
    static Call on(void *cuda_stream) {
        Call call;
        call.stream = cuda_stream;
        return call;
    }
};

/** What an attention plan is made for: see attune_attention_desc. */
struct AttentionDesc {
    attune_type dtype = ATTUNE_F32;
    int64_t head_dim = 0;
    int64_t value_dim = 0; // 0: as head_dim
    std::string mask = "none", score = "none", position = "none";
    std::string schedule; // empty: Attune's choice
    const attune_kernel *kernel = nullptr;
    attune_type cache_dtype = attune_type(0); // of the cache, where runs have one; 0: as dtype
    attune_device device = ATTUNE_CPU;
};

/** A cache that a run appends to and attends over: see attune_cache. `args.cache = &cache`; it must outlive the call. */
struct Cache : attune_cache {
    Cache(const TensorView &keys, const TensorView &values, const TensorView &token_counts) {
        attune_cache_init(this);
        k = keys, v = values, lengths = token_counts;
    }
};

/** One run's tensors and numbers: see attune_attention_args. The optional tensors are pointed to, and must outlive the call. */
struct AttentionArgs : attune_attention_args {
    AttentionArgs(const TensorView &query, const TensorView &key, const TensorView &value, const TensorView &output) {
        attune_attention_args_init(this);
        q = query, k = key, v = value, out = output;
    }
};

class AttentionPlan {
public:
    static Result<AttentionPlan> create(const AttentionDesc &desc) {
        attune_attention_desc d = ATTUNE_ATTENTION_DESC_INIT;
        d.dtype = desc.dtype, d.head_dim = desc.head_dim, d.value_dim = desc.value_dim;
        d.mask = desc.mask.c_str(), d.score = desc.score.c_str(), d.position = desc.position.c_str();
        d.schedule = desc.schedule.empty() ? nullptr : desc.schedule.c_str();
        d.kernel = desc.kernel, d.cache_dtype = desc.cache_dtype, d.device = desc.device;
        attune_attention_plan *plan = nullptr;
        attune_status code = attune_attention_plan_create(&d, &plan);
        if (code != ATTUNE_OK) return Status::from(code);
        return AttentionPlan(plan);
    }

    /** Of a plan that wasn't moved from. */
    const attune_kernel &kernel() const { return *attune_attention_plan_kernel(plan_.get()); }
    /** nullptr for numbers that no run could have. */
    const attune_kernel *kernel_for(int64_t queries, int64_t heads, int64_t kv_heads, int64_t keys) const {
        return attune_attention_plan_kernel_for(plan_.get(), queries, heads, kv_heads, keys);
    }
    Status run(const AttentionArgs &args) const { return Status::from(attune_attention_run(plan_.get(), &args, nullptr)); }
    Status run(const AttentionArgs &args, Call &call) const { return Status::from(attune_attention_run(plan_.get(), &args, &call)); }

private:
    struct Destroy {
        void operator()(attune_attention_plan *plan) const { attune_attention_plan_destroy(plan); }
    };
    explicit AttentionPlan(attune_attention_plan *plan) : plan_(plan) {}
    std::unique_ptr<attune_attention_plan, Destroy> plan_;
};

/** nullptr for an empty name: Attune's choice. */
inline const char *schedule_name(const std::string &schedule) { return schedule.empty() ? nullptr : schedule.c_str(); }

struct SoftmaxOptions {
    float temperature = 1.0f;
    bool log = false;
    int32_t axis = -1;
    const TensorView *mask = nullptr;
    std::string schedule;
};
inline Status softmax(const TensorView &x, const TensorView &y, const SoftmaxOptions &options = {}, attune_call *call = nullptr) {
    attune_softmax_args args;
    attune_softmax_args_init(&args);
    args.x = x, args.y = y, args.temperature = options.temperature, args.log = options.log;
    args.axis = options.axis, args.mask = options.mask, args.schedule = schedule_name(options.schedule);
    return Status::from(attune_softmax(&args, call));
}

struct LogSumExpOptions {
    float temperature = 1.0f;
    int32_t axis = -1;
    const TensorView *mask = nullptr;
    std::string schedule;
};
inline Status log_sum_exp(const TensorView &x, const TensorView &y, const LogSumExpOptions &options = {}, attune_call *call = nullptr) {
    attune_log_sum_exp_args args;
    attune_log_sum_exp_args_init(&args);
    args.x = x, args.y = y, args.temperature = options.temperature;
    args.axis = options.axis, args.mask = options.mask, args.schedule = schedule_name(options.schedule);
    return Status::from(attune_log_sum_exp(&args, call));
}

/** What attention gave for one set of keys. */
struct Partial {
    TensorView out, lse;
};
inline Status merge(const Partial &a, const Partial &b, const Partial &merged, const std::string &schedule = "",
                    attune_call *call = nullptr) {
    attune_merge_args args;
    attune_merge_args_init(&args);
    args.a = a.out, args.a_lse = a.lse, args.b = b.out, args.b_lse = b.lse, args.out = merged.out, args.lse = merged.lse;
    args.schedule = schedule_name(schedule);
    return Status::from(attune_merge(&args, call));
}

inline Status alibi_slopes(const TensorView &y, const std::string &schedule = "", attune_call *call = nullptr) {
    attune_alibi_slopes_args args;
    attune_alibi_slopes_args_init(&args);
    args.y = y, args.schedule = schedule_name(schedule);
    return Status::from(attune_alibi_slopes(&args, call));
}

struct RotaryOptions {
    double base = 10000.0;
    attune_rotary_layout layout = ATTUNE_ROTARY_HALF;
    int64_t rotary_dim = 0; // 0: all of dim
    int64_t offset = 0;
    const TensorView *positions = nullptr;
    std::string scaling; // empty: none
    std::vector<int32_t> sections;
    int32_t axes = 0;
    const TensorView *cosines = nullptr, *sines = nullptr; // none: of base and scaling
    std::string schedule;
};
inline Status rotary(const TensorView &x, const TensorView &y, const RotaryOptions &options = {}, attune_call *call = nullptr) {
    attune_rotary_args args;
    attune_rotary_args_init(&args);
    args.x = x, args.y = y, args.base = options.base, args.layout = options.layout;
    args.rotary_dim = options.rotary_dim, args.offset = options.offset, args.positions = options.positions;
    args.scaling = options.scaling.empty() ? nullptr : options.scaling.c_str();
    args.sections = options.sections.data(), args.section_count = static_cast<int32_t>(options.sections.size()), args.axes = options.axes;
    args.cosines = options.cosines, args.sines = options.sines;
    args.schedule = schedule_name(options.schedule);
    return Status::from(attune_rotary(&args, call));
}

struct SinusoidalOptions {
    double base = 10000.0;
    int64_t offset = 0;
    std::string schedule;
};
inline Status sinusoidal(const TensorView &y, const SinusoidalOptions &options = {}, attune_call *call = nullptr) {
    attune_sinusoidal_args args;
    attune_sinusoidal_args_init(&args);
    args.y = y, args.base = options.base, args.offset = options.offset;
    args.schedule = schedule_name(options.schedule);
    return Status::from(attune_sinusoidal(&args, call));
}

struct AddPositionsOptions {
    const TensorView *table = nullptr; // none: the sinusoidal table
    double base = 10000.0;
    int64_t offset = 0;
    const TensorView *positions = nullptr;
    std::string schedule;
};
inline Status add_positions(const TensorView &x, const TensorView &y, const AddPositionsOptions &options = {},
                            attune_call *call = nullptr) {
    attune_add_positions_args args;
    attune_add_positions_args_init(&args);
    args.x = x, args.y = y, args.table = options.table, args.base = options.base, args.offset = options.offset;
    args.positions = options.positions, args.schedule = schedule_name(options.schedule);
    return Status::from(attune_add_positions(&args, call));
}

/** What a cache of sequences is made for: see attune_kv_cache_desc. */
struct KvCacheDesc {
    attune_type dtype = ATTUNE_F32;
    int32_t layers = 1;
    int64_t kv_heads = 0, head_dim = 0;
    int64_t value_dim = 0; // 0: as head_dim
    int64_t capacity = 0;
    int64_t pages = 0;
    int64_t page_tokens = 0; // 0: Attune's choice
};

/** Keys and values of many sequences, for all layers of a model: see attune_kv_cache. */
class KvCache {
public:
    static Result<KvCache> create(const KvCacheDesc &desc) {
        const attune_kv_cache_desc d = {sizeof(d),      desc.dtype,    desc.layers, desc.kv_heads,   desc.head_dim,
                                        desc.value_dim, desc.capacity, desc.pages,  desc.page_tokens};
        attune_kv_cache *cache = nullptr;
        if (attune_status code = attune_kv_cache_create(&d, &cache); code != ATTUNE_OK) return Status::from(code);
        return KvCache(cache);
    }

    Result<int64_t> add() {
        int64_t sequence = 0;
        if (attune_status code = attune_kv_cache_add(cache_.get(), &sequence); code != ATTUNE_OK) return Status::from(code);
        return sequence;
    }
    Result<int64_t> fork(int64_t sequence, int64_t tokens) {
        int64_t fork = 0;
        if (attune_status code = attune_kv_cache_fork(cache_.get(), sequence, tokens, &fork); code != ATTUNE_OK) return Status::from(code);
        return fork;
    }
    Status truncate(int64_t sequence, int64_t tokens) { return Status::from(attune_kv_cache_truncate(cache_.get(), sequence, tokens)); }
    Status remove(int64_t sequence) { return Status::from(attune_kv_cache_remove(cache_.get(), sequence)); }
    int64_t length(int64_t sequence) const { return attune_kv_cache_length(cache_.get(), sequence); }
    int64_t free_pages() const { return attune_kv_cache_free_pages(cache_.get()); }

    Status begin(const std::vector<int64_t> &sequences, int64_t new_tokens) {
        return Status::from(attune_kv_cache_begin(cache_.get(), sequences.data(), static_cast<int64_t>(sequences.size()), new_tokens));
    }
    Result<attune_cache> layer(int32_t index) const {
        attune_cache view;
        if (attune_status code = attune_kv_cache_layer(cache_.get(), index, &view); code != ATTUNE_OK) return Status::from(code);
        return view;
    }
    Status end() { return Status::from(attune_kv_cache_end(cache_.get())); }

private:
    struct Destroy {
        void operator()(attune_kv_cache *cache) const { attune_kv_cache_destroy(cache); }
    };
    explicit KvCache(attune_kv_cache *cache) : cache_(cache) {}
    std::unique_ptr<attune_kv_cache, Destroy> cache_;
};

struct CacheWriteOptions {
    int32_t axis = -2;                  // the tokens' axis
    const TensorView *starts = nullptr; // none: 0
    bool circular = false;
};
inline Status cache_write(const TensorView &cache, const TensorView &update, const CacheWriteOptions &options = {},
                          attune_call *call = nullptr) {
    attune_cache_write_args args;
    attune_cache_write_args_init(&args);
    args.cache = cache, args.update = update;
    args.axis = options.axis, args.starts = options.starts, args.circular = options.circular;
    return Status::from(attune_cache_write(&args, call));
}

/** What a linear layer is made of: see attune_linear_desc. */
struct LinearDesc {
    attune_type dtype = ATTUNE_F32;
    TensorView weight;                // [out, in]
    const TensorView *bias = nullptr; // [out]; none
    attune_activation activation = ATTUNE_ACTIVATION_NONE;
    const TensorView *gate = nullptr; // [out, in]; none
    std::string schedule;             // empty: Attune's choice
};

class Linear {
public:
    static Result<Linear> create(const LinearDesc &desc) {
        attune_linear_desc d;
        attune_linear_desc_init(&d);
        d.dtype = desc.dtype, d.weight = desc.weight, d.bias = desc.bias;
        d.activation = desc.activation, d.gate = desc.gate, d.schedule = schedule_name(desc.schedule);
        attune_linear *linear = nullptr;
        const attune_status code = attune_linear_create(&d, &linear);
        if (code != ATTUNE_OK) return Status::from(code);
        return Linear(linear);
    }

    int64_t in() const { return attune_linear_in(linear_.get()); }
    int64_t out() const { return attune_linear_out(linear_.get()); }
    size_t bytes() const { return attune_linear_bytes(linear_.get()); }
    /** nullptr for less than 0. */
    const attune_kernel *kernel_for(int64_t rows) const { return attune_linear_kernel_for(linear_.get(), rows); }

    Status run(const TensorView &x, const TensorView &y, const TensorView *residual = nullptr, attune_call *call = nullptr) const {
        attune_linear_args args;
        attune_linear_args_init(&args);
        args.x = x, args.y = y, args.residual = residual;
        return Status::from(attune_linear_run(linear_.get(), &args, call));
    }

private:
    struct Destroy {
        void operator()(attune_linear *linear) const { attune_linear_destroy(linear); }
    };
    explicit Linear(attune_linear *linear) : linear_(linear) {}
    std::unique_ptr<attune_linear, Destroy> linear_;
};

struct NormOptions {
    const TensorView *weight = nullptr, *bias = nullptr; // [C]: none; bias of layer norm alone
    float epsilon = 1e-5f;
    const TensorView *residual = nullptr, *sum = nullptr; // with them, sum = x + residual is written, and normalised
    std::string schedule;
};
inline attune_norm_args norm_args(const TensorView &x, const TensorView &y, const NormOptions &options) {
    attune_norm_args args;
    attune_norm_args_init(&args);
    args.x = x, args.y = y, args.weight = options.weight, args.bias = options.bias, args.epsilon = options.epsilon;
    args.residual = options.residual, args.sum = options.sum, args.schedule = schedule_name(options.schedule);
    return args;
}
inline Status layer_norm(const TensorView &x, const TensorView &y, const NormOptions &options = {}, attune_call *call = nullptr) {
    const attune_norm_args args = norm_args(x, y, options);
    return Status::from(attune_layer_norm(&args, call));
}
inline Status rms_norm(const TensorView &x, const TensorView &y, const NormOptions &options = {}, attune_call *call = nullptr) {
    const attune_norm_args args = norm_args(x, y, options);
    return Status::from(attune_rms_norm(&args, call));
}

struct EmbeddingOptions {
    const TensorView *positions = nullptr; // [P, C]: none
    int64_t offset = 0;                    // of token 0
};
inline Status embedding(const TensorView &ids, const TensorView &table, const TensorView &y, const EmbeddingOptions &options = {}) {
    attune_embedding_args args;
    attune_embedding_args_init(&args);
    args.ids = ids, args.table = table, args.y = y, args.positions = options.positions, args.offset = options.offset;
    return Status::from(attune_embedding(&args));
}

/** What a multi-head layer is made of: see attune_mha_desc. The optional tensors are pointed to, and read by create alone. */
struct MultiHeadAttentionDesc {
    attune_type dtype = ATTUNE_F32;
    int64_t heads = 1, kv_heads = 0;                   // 0: as heads
    TensorView query_weight, key_weight, value_weight; // [out, in]; not set: no projection
    int64_t head_dim = 0, value_dim = 0;               // 0: as the weights have them
    const TensorView *query_bias = nullptr, *key_bias = nullptr, *value_bias = nullptr;
    const TensorView *output_weight = nullptr, *output_bias = nullptr;
    std::string mask = "none", score = "none", position = "none";
    int64_t context_length = 0; // 0: no limit
    std::string schedule;       // of attention; empty: Attune's choice
    attune_type cache_dtype = attune_type(0);
};

/** One run's tensors and numbers: see attune_mha_args. The optional tensors are pointed to, and must outlive the call. */
struct MultiHeadAttentionArgs : attune_mha_args {
    MultiHeadAttentionArgs(const TensorView &tokens, const TensorView &output) {
        attune_mha_args_init(this);
        query = tokens, out = output;
    }
};

class MultiHeadAttention {
public:
    static Result<MultiHeadAttention> create(const MultiHeadAttentionDesc &desc) {
        attune_mha_desc d;
        attune_mha_desc_init(&d);
        d.dtype = desc.dtype, d.heads = desc.heads, d.kv_heads = desc.kv_heads;
        d.query_weight = desc.query_weight, d.key_weight = desc.key_weight, d.value_weight = desc.value_weight;
        d.head_dim = desc.head_dim, d.value_dim = desc.value_dim;
        d.query_bias = desc.query_bias, d.key_bias = desc.key_bias, d.value_bias = desc.value_bias;
        d.output_weight = desc.output_weight, d.output_bias = desc.output_bias;
        d.mask = desc.mask.c_str(), d.score = desc.score.c_str(), d.position = desc.position.c_str();
        d.context_length = desc.context_length, d.schedule = schedule_name(desc.schedule), d.cache_dtype = desc.cache_dtype;
        attune_mha *mha = nullptr;
        const attune_status code = attune_mha_create(&d, &mha);
        if (code != ATTUNE_OK) return Status::from(code);
        return MultiHeadAttention(mha);
    }

    int64_t out() const { return attune_mha_out(mha_.get()); }
    size_t bytes() const { return attune_mha_bytes(mha_.get()); }

    Status run(const MultiHeadAttentionArgs &args, attune_call *call = nullptr) const {
        return Status::from(attune_mha_run(mha_.get(), &args, call));
    }

private:
    struct Destroy {
        void operator()(attune_mha *mha) const { attune_mha_destroy(mha); }
    };
    explicit MultiHeadAttention(attune_mha *mha) : mha_(mha) {}
    std::unique_ptr<attune_mha, Destroy> mha_;
};

} // namespace attune
