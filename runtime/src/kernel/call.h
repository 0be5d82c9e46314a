// One call of the C interface: what its kernels see as Halide's user_context.
#pragma once

#include <atomic>
#include <cstddef>

#include "attune/attune.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/workspace.h"
#include "runtime/src/status.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

/** Kernels get a pointer to this. A kernel that is called directly, without the runtime, must get NULL. */
struct CallContext {
    int32_t threads = 1;
    attune_parallel_for parallel_for = nullptr; // the caller's pool, or nullptr
    void *pool = nullptr;
    Workspace *workspace = nullptr;
    void *cuda_context = nullptr; // of calls on ATTUNE_CUDA: where kernels launch
    void *cuda_stream = nullptr;
    std::atomic<bool> failed{false};
    char error[512] = ""; // the first error a kernel reported
};

/** Checks `settings`, which may be nullptr. A call that is refused afterwards, or needs no scratch memory, has used none. */
Status check_call(attune_call *settings);

/** Holds a workspace while it lives, and tells the caller's settings at the end how much was used. */
class Call {
public:
    explicit Call(attune_call *settings);
    ~Call();
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;

    CallContext &context() { return context_; }
    /** How many threads will share a kernel's tasks: of a caller's own pool as many as the caller said, or as there are CPUs. */
    int32_t threads() const;

    /** Scratch for `count` elements until the call ends or it is released; nullptr where memory runs out. */
    template <typename T> T *allocate(size_t count) { return static_cast<T *>(context_.workspace->allocate(count * sizeof(T))); }
    void release(void *block) { context_.workspace->release(block); }
    KeptTables &kept_tables() { return context_.workspace->kept_tables(); }

private:
    attune_call *settings_;
    CallContext context_;
};

/** Scratch memory of one call, released with the object. */
template <typename T> class Scratch {
public:
    explicit Scratch(Call &call) : call_(call) {}
    ~Scratch() { call_.release(data_); }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    /** False where memory runs out. At most once an object. */
    bool allocate(size_t count) {
        if (count > SIZE_MAX / sizeof(T)) return false;
        data_ = call_.allocate<T>(count);
        return data_ != nullptr;
    }
    T *data() { return data_; }
    const T *data() const { return data_; }

private:
    Call &call_;
    T *data_ = nullptr;
};

/** The error of a call whose scratch memory couldn't be had. */
Status out_of_memory(const char *what, int64_t bytes);

/** A tensor of scratch memory that a kernel is handed, without gaps: its bytes are counted in 63 bits and its strides in 32, or it is an
 * error that says what of it (`what`: "the log-sum-exp") is too large. */
template <typename T> Status make_scratch_tensor(const char *what, attune_type type, int32_t rank, const int64_t *extents,
                                                 Scratch<T> &memory, attune_tensor &made) {
    made = attune_contiguous(nullptr, type, rank, extents);
    ATTUNE_TRY(check_scratch(made, what));
    if (!memory.allocate(static_cast<size_t>(packed_bytes(made)) / sizeof(T))) return out_of_memory(what, packed_bytes(made));
    made.data = memory.data();
    return {};
}

/** Calls a kernel. arguments[0] is filled in here. */
Status run_kernel(const attune_kernel &kernel, void **arguments, Call &call);

} // namespace attune::runtime
