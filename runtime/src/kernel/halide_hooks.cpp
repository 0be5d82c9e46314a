#include "runtime/src/kernel/halide_hooks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include <xmmintrin.h>

#include "runtime/src/cuda/hooks.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/cpu.h"
#include "runtime/src/kernel/halide_runtime.h"
#include "runtime/src/kernel/original_hook.h"
#include "runtime/src/kernel/threads.h"

namespace attune::runtime {

namespace {

struct Originals {
    OriginalHook<halide_malloc_t> malloc;
    OriginalHook<halide_free_t> free;
    OriginalHook<halide_do_par_for_t> do_par_for;
    OriginalHook<halide_error_handler_t> error;
    OriginalHook<halide_print_t> print;
};

Originals originals;

CallContext *context_of(void *user_context) { return static_cast<CallContext *>(user_context); }

void *allocate(void *user_context, size_t bytes) {
    if (!user_context) return originals.malloc(user_context, bytes);
    return context_of(user_context)->workspace->allocate(bytes);
}

void release(void *user_context, void *block) {
    if (!user_context) return originals.free(user_context, block);
    context_of(user_context)->workspace->release(block);
}

/** One parallel loop of a kernel. */
struct Loop {
    void *user_context;
    halide_task_t task;
    int min;
    uint8_t *closure;
    unsigned arithmetic; // the caller's, of which tasks are: how numbers are rounded, and denormal ones taken
};

/** A thread's arithmetic is another's while this lives. */
class Arithmetic {
public:
    explicit Arithmetic(unsigned wanted) : before_(_mm_getcsr()) { _mm_setcsr(wanted); }
    ~Arithmetic() { _mm_setcsr(before_); }
    Arithmetic(const Arithmetic &) = delete;
    Arithmetic &operator=(const Arithmetic &) = delete;

private:
    const unsigned before_;
};

int run_iteration(void *closure, int32_t index) {
    const Loop &loop = *static_cast<const Loop *>(closure);
    InsideTask inside;
    const Arithmetic as_callers(loop.arithmetic);
    TaskScope scope(*context_of(loop.user_context)->workspace);
    return loop.task(loop.user_context, loop.min + index, loop.closure);
}

int run_inline(const Loop &loop, int count) {
    for (int i = 0; i < count; ++i)
        if (const int code = loop.task(loop.user_context, loop.min + i, loop.closure)) return code;
    return 0;
}

int do_par_for(void *user_context, halide_task_t task, int min, int count, uint8_t *closure) {
    if (!user_context) return originals.do_par_for(user_context, task, min, count, closure);
    const CallContext &context = *context_of(user_context);
    Loop loop = {user_context, task, min, closure, _mm_getcsr()};
    // Inside another loop's task the threads are busy, and a caller's pool might wait for itself.
    if (inside_task() || count <= 1 || (!context.parallel_for && context.threads <= 1)) return run_inline(loop, count);
    context.workspace->begin_loop(std::min(count, context.threads));
    const int code = context.parallel_for ? context.parallel_for(context.pool, count, run_iteration, &loop)
                                          : parallel_for(context.threads, count, run_iteration, &loop);
    context.workspace->end_loop();
    return code;
}

/** Keeps the first message: later ones follow from it. */
void keep_error(void *user_context, const char *message) {
    if (!user_context) return originals.error(user_context, message);
    CallContext &context = *context_of(user_context);
    if (context.failed.exchange(true)) return;
    const size_t length = std::min(std::strlen(message), sizeof(context.error) - 1);
    std::memcpy(context.error, message, length);
    context.error[length] = '\0';
}

void print(void *user_context, const char *message) {
    if (!user_context) originals.print(user_context, message);
}

bool has_feature(int count, const uint64_t *features, halide_target_feature_t feature) {
    const int word = feature / 64;
    return word < count && ((features[word] >> (feature % 64)) & 1) != 0;
}

template <size_t Count> bool has_any(int count, const uint64_t *features, const halide_target_feature_t (&wanted)[Count]) {
    return std::any_of(wanted, wanted + Count, [&](halide_target_feature_t feature) { return has_feature(count, features, feature); });
}

/** Halide's check without what the classes from avx512_amx on settle: Halide looks for these sets by CPU family, and overlooks them on
 * Intel's. */
int others_can_be_used(int count, const uint64_t *features) {
    std::array<uint64_t, 8> others{};
    const int words = std::min<int>(count, others.size());
    std::copy_n(features, words, others.begin());
    for (halide_target_feature_t settled : {halide_target_feature_avx512_cannonlake, halide_target_feature_avx512_zen4,
                                            halide_target_feature_avx512_zen5, halide_target_feature_avx512_sapphirerapids})
        if (settled / 64 < words) others[settled / 64] &= ~(uint64_t{1} << (settled % 64));
    return halide_default_can_use_target_features(words, others.data());
}

/** Halide's own check, and the class: it can be lowered by ATTUNE_CPU, and knows what the operating system saves. */
int can_use_target_features(int count, const uint64_t *features) {
    constexpr halide_target_feature_t avx512[] = {halide_target_feature_avx512,
                                                  halide_target_feature_avx512_knl,
                                                  halide_target_feature_avx512_skylake,
                                                  halide_target_feature_avx512_zen4,
                                                  halide_target_feature_avx512_cannonlake,
                                                  halide_target_feature_avx512_zen5,
                                                  halide_target_feature_avx512_sapphirerapids};
    constexpr halide_target_feature_t avx2[] = {halide_target_feature_avx, halide_target_feature_avx2, halide_target_feature_fma,
                                                halide_target_feature_f16c};
    if (cpu_class() < CpuClass::avx512_zen5 && has_feature(count, features, halide_target_feature_avx512_zen5)) return 0;
    if (cpu_class() < CpuClass::avx512_bf16 && has_feature(count, features, halide_target_feature_avx512_zen4)) return 0;
    if (cpu_class() != CpuClass::avx512_amx && has_feature(count, features, halide_target_feature_avx512_sapphirerapids)) return 0;
    if (cpu_class() < CpuClass::avx512 && has_any(count, features, avx512)) return 0;
    if (cpu_class() < CpuClass::avx2 && has_any(count, features, avx2)) return 0;
    if (cpu_class() >= CpuClass::avx512_amx) return others_can_be_used(count, features);
    return halide_default_can_use_target_features(count, features);
}

} // namespace

void install_halide_hooks() {
    static std::once_flag once;
    std::call_once(once, [] {
        originals.malloc.note(halide_set_custom_malloc(allocate));
        originals.free.note(halide_set_custom_free(release));
        originals.do_par_for.note(halide_set_custom_do_par_for(do_par_for));
        originals.error.note(halide_set_error_handler(keep_error));
        originals.print.note(halide_set_custom_print(print));
        halide_set_custom_can_use_target_features(can_use_target_features);
        install_cuda_hooks();
    });
}

} // namespace attune::runtime
