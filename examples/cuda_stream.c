/* Attention between other work on a CUDA stream of the program's own: a fill and a copy of the driver's before it, a copy after it, and one
 * wait at the end. The driver is found at run time, so that this builds anywhere; programs with the CUDA toolkit include cuda.h instead. */
#include <attune/attune.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long pointer; /* CUdeviceptr */
typedef struct driver {
    int (*init)(unsigned);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*create_stream)(void **stream, unsigned flags);
    int (*destroy_stream)(void *stream);
    int (*allocate)(pointer *to, size_t bytes);
    int (*release)(pointer from);
    int (*fill)(pointer to, unsigned value, size_t words, void *stream);
    int (*to_device)(pointer to, const void *from, size_t bytes, void *stream);
    int (*to_host)(void *to, pointer from, size_t bytes, void *stream);
    int (*wait)(void *stream);
} driver;

enum { heads = 2, tokens = 32, dim = 64, count = heads * tokens * dim, non_blocking = 1 };

/* POSIX promises that a function's address goes through void *. */
static int find(void *library, const char *name, void *function) {
    *(void **)function = dlsym(library, name);
    return *(void **)function != NULL;
}

static int load(driver *d) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    return cuda && find(cuda, "cuInit", &d->init) && find(cuda, "cuDevicePrimaryCtxRetain", &d->retain) &&
           find(cuda, "cuCtxSetCurrent", &d->set_current) && find(cuda, "cuStreamCreate", &d->create_stream) &&
           find(cuda, "cuStreamDestroy_v2", &d->destroy_stream) && find(cuda, "cuMemAlloc_v2", &d->allocate) &&
           find(cuda, "cuMemFree_v2", &d->release) && find(cuda, "cuMemsetD32Async", &d->fill) &&
           find(cuda, "cuMemcpyHtoDAsync_v2", &d->to_device) && find(cuda, "cuMemcpyDtoHAsync_v2", &d->to_host) &&
           find(cuda, "cuStreamSynchronize", &d->wait);
}

/* [1, heads, tokens, dim] on the GPU. */
static attune_tensor tensor(pointer data) {
    const int64_t shape[] = {1, heads, tokens, dim};
    attune_tensor made = attune_contiguous((void *)(uintptr_t)data, ATTUNE_F32, 4, shape);
    made.device = ATTUNE_CUDA;
    return made;
}

/* Causal attention, launched on `stream`. It returns before the GPU is done. */
static attune_status attend(pointer q, pointer k, pointer v, pointer out, void *stream) {
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_plan *plan = NULL;
    attune_attention_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_status status;

    desc.head_dim = dim, desc.mask = "causal", desc.device = ATTUNE_CUDA;
    status = attune_attention_plan_create(&desc, &plan);
    if (status != ATTUNE_OK) return status;
    attune_attention_args_init(&args);
    args.q = tensor(q), args.k = tensor(k), args.v = tensor(v), args.out = tensor(out);
    call.stream = stream; /* a cudaStream_t is the same */
    status = attune_attention_run(plan, &args, &call);
    attune_attention_plan_destroy(plan);
    return status;
}

/* Queries and keys are zeros, so each token's result is the mean of the values up to its own: value t is t. */
static int run(const driver *d) {
    static float values[count], result[count];
    pointer q = 0, k = 0, v = 0, out = 0;
    void *stream = NULL;
    float worst = 0;
    attune_status status;
    for (int i = 0; i < count; i++)
        values[i] = (float)(i / dim % tokens);
    d->create_stream(&stream, non_blocking);
    d->allocate(&q, sizeof(values)), d->allocate(&k, sizeof(values)), d->allocate(&v, sizeof(values)), d->allocate(&out, sizeof(values));
    d->fill(q, 0, count, stream), d->fill(k, 0, count, stream);
    d->to_device(v, values, sizeof(values), stream);
    status = attend(q, k, v, out, stream);
    d->to_host(result, out, sizeof(result), stream);
    d->wait(stream);
    if (status != ATTUNE_OK) fprintf(stderr, "%s\n", attune_error_message());
    for (int i = 0; i < count; i++)
        worst = fmaxf(worst, fabsf(result[i] - (float)(i / dim % tokens) / 2));
    d->release(q), d->release(k), d->release(v), d->release(out);
    d->destroy_stream(stream);
    printf("largest error %g\n", worst);
    return status == ATTUNE_OK && worst < 1e-4f;
}

int main(void) {
    driver d;
    void *context = NULL;
    if (attune_cuda_status() != ATTUNE_OK) {
        printf("skipped: %s\n", attune_error_message());
        return 0;
    }
    printf("%s\n", attune_cuda_device_name());
    if (!load(&d) || d.init(0) || d.retain(&context, 0) || d.set_current(context)) {
        fprintf(stderr, "the driver gives no context\n");
        return 1;
    }
    return run(&d) ? 0 : 1;
}
