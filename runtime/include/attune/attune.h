/* Attune's C interface: attention, softmax and positional encoding from kernels generated ahead of time.
 *
 * Tensors are described by `attune_tensor`; nothing is owned or copied. Every function checks its arguments before any
 * kernel runs and returns an `attune_status`; `attune_error_message` then gives one sentence that names the argument, its
 * value and the limit. Nothing is written to an output when a call fails. No function aborts or throws.
 *
 * Structs that may grow begin with `struct_size`: initialise them with the ATTUNE_..._INIT macros, or set it to sizeof.
 */
#ifndef ATTUNE_ATTUNE_H
#define ATTUNE_ATTUNE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTUNE_VERSION "0.1.0"
#define ATTUNE_MAX_RANK 8

typedef enum attune_status {
    ATTUNE_OK = 0,
    ATTUNE_INVALID_ARGUMENT = 1, /* an argument is wrong; the message names it */
    ATTUNE_UNSUPPORTED = 2,      /* no linked kernel does this, or this CPU can't run it */
    ATTUNE_OUT_OF_MEMORY = 3,
    ATTUNE_INTERNAL = 4 /* a kernel reported an error of its own */
} attune_status;

/* The message of the last failed call on the calling thread; "" if none failed. Valid until that thread's next call. */
const char *attune_error_message(void);

typedef enum attune_type {
    ATTUNE_F32 = 1,
    ATTUNE_F16 = 2,
    ATTUNE_BF16 = 3,
    ATTUNE_I32 = 4,
    ATTUNE_I64 = 5,
    ATTUNE_BOOL = 6 /* one byte, zero or not */
} attune_type;

typedef enum attune_device { ATTUNE_CPU = 0 } attune_device;

/* A view of memory the caller owns. Axes run outermost first: [batch, heads, tokens, dim]. Strides count elements and may
 * be zero in an input (broadcast). The innermost axis of q, k, v and outputs must have stride 1. */
typedef struct attune_tensor {
    void *data;
    attune_type type;
    attune_device device;
    int32_t rank;
    int64_t extent[ATTUNE_MAX_RANK];
    int64_t stride[ATTUNE_MAX_RANK];
} attune_tensor;

/* A view of contiguous (C-order) memory. */
attune_tensor attune_contiguous(void *data, attune_type type, int32_t rank, const int64_t *extent);

/* Runs task(closure, i) for every i in [0, count), in any order, on any threads, and returns when all are done: 0, or the
 * first non-zero value a task returned. */
typedef int (*attune_parallel_for)(void *pool, int32_t count, int (*task)(void *closure, int32_t index), void *closure);

/* How one call runs. Results are bitwise the same for every setting. */
typedef struct attune_call {
    size_t struct_size;
    int32_t threads;                  /* 0: every CPU this process may use */
    attune_parallel_for parallel_for; /* NULL: Attune's own threads; otherwise the caller's pool, and `threads` is ignored */
    void *pool;                       /* handed to parallel_for */
    size_t workspace_bytes;           /* out: the most scratch memory this call held at once */
} attune_call;
#define ATTUNE_CALL_INIT                                                                                                                   \
    { sizeof(attune_call), 0, NULL, NULL, 0 }

/* Gives back the scratch memory kept from finished calls. Calls that run meanwhile aren't touched. */
void attune_release_memory(void);

/* A generated kernel: what it computes and how to call it. The prebuilt ones are linked in (attune_kernel_at); CMake's
 * attune_add_kernel emits one `const attune_kernel NAME_kernel` for each kernel of a user's own. */
typedef struct attune_kernel {
    size_t struct_size;
    const char *name;      /* "attention_flash_f32_d64" */
    const char *operation; /* "attention", "attention_weights", "softmax", "log_softmax", "rotary_half", ... */
    const char *schedule;  /* "flash" */
    const char *targets;   /* Halide target strings, comma-separated, best first */
    attune_type dtype;
    int32_t head_dim; /* D and Dv it is compiled for; 0: any */
    int32_t value_dim;
    const char *mask;    /* text compiled in; "": none (prebuilt kernels), or one written in C++, which no weights can be given for */
    int32_t param_count; /* names in that text, which become run-time parameters */
    const char *const *params;
    int (*call)(void **arguments); /* Halide's argv entry point */
} attune_kernel;

/* The prebuilt kernels: index 0 ... attune_kernel_count() - 1; NULL past the end. */
int32_t attune_kernel_count(void);
const attune_kernel *attune_kernel_at(int32_t index);

/* The CPU class kernels run as: "avx512", "avx2" or "x86-64". The environment's ATTUNE_CPU=avx2 or x86-64 lowers it. */
const char *attune_cpu_class(void);

/* ---- Attention: softmax(mask(bias(softcap(scale q k^T))) / temperature) v ------------------------------------------- */

/* What a plan is made for. Everything here is structure; numbers come with each run. */
typedef struct attune_attention_desc {
    size_t struct_size;
    attune_type dtype;           /* of q, k, v and out */
    int64_t head_dim;            /* D: width of q and k */
    int64_t value_dim;           /* Dv: width of v and out; 0: as head_dim */
    const char *mask;            /* textual mask, e.g. "causal & window(256, 0)"; NULL or "none": no mask */
    const char *schedule;        /* name; NULL: Attune's choice */
    const attune_kernel *kernel; /* a kernel from attune_add_kernel, to use instead of the prebuilt ones; or NULL */
} attune_attention_desc;
#define ATTUNE_ATTENTION_DESC_INIT                                                                                                         \
    { sizeof(attune_attention_desc), ATTUNE_F32, 0, 0, NULL, NULL, NULL }

/* An immutable plan: one kernel chosen. May run from many threads at once. */
typedef struct attune_attention_plan attune_attention_plan;

attune_status attune_attention_plan_create(const attune_attention_desc *desc, attune_attention_plan **plan);
void attune_attention_plan_destroy(attune_attention_plan *plan); /* NULL is fine */
/* The kernel the plan runs. Lives as long as the program. */
const attune_kernel *attune_attention_plan_kernel(const attune_attention_plan *plan);

/* One run. Shapes: q [B,Hq,N,D], k [B,Hkv,M,D], v [B,Hkv,M,Dv], out [B,Hq,N,Dv], Hq a multiple of Hkv (grouped heads). */
typedef struct attune_attention_args {
    size_t struct_size;
    attune_tensor q, k, v, out;
    const attune_tensor *lse;          /* optional output, f32 [B,Hq,N]: log-sum-exp of the scores entering softmax */
    const attune_tensor *weights;      /* optional output, f32 [B,Hq,N,M] */
    const attune_tensor *boolean_mask; /* optional, ATTUNE_BOOL, rank 4, each axis full or 1 of [B,Hq,N,M]: true attends */
    const attune_tensor *bias;         /* optional, f32, rank 4, likewise; added to the scores; -inf masks */
    const attune_tensor *key_lengths;  /* optional, i32 or i64 [B]: keys j < length, 0 <= length <= M */
    const attune_tensor *offsets;      /* optional, i32 or i64 [B]: key position of query 0, per batch item */
    int32_t has_offset;                /* with `offset`, one offset for all batch items */
    int64_t offset;
    int32_t has_scale;     /* 0: scale is 1 / sqrt(D) */
    float scale;           /* finite */
    float softcap;         /* c > 0: scores become c tanh(s / c); 0: none */
    float temperature;     /* > 0 */
    const int32_t *params; /* values of the kernel's named parameters, param_count of them */
    int32_t param_count;
} attune_attention_args;

/* Fills in the defaults: no optional tensor, scale 1 / sqrt(D), no softcap, temperature 1. */
void attune_attention_args_init(attune_attention_args *args);

/* `call` may be NULL. */
attune_status attune_attention_run(const attune_attention_plan *plan, const attune_attention_args *args, attune_call *call);

/* ---- Softmax over the innermost axis: exp(x / T - logsumexp(x / T)), or its logarithm -------------------------------- */
typedef struct attune_softmax_args {
    size_t struct_size;
    attune_tensor x, y; /* same shape, f32, innermost stride 1; y may be x itself */
    float temperature;  /* > 0 */
    int32_t log;        /* non-zero: log-softmax */
    const char *schedule;
} attune_softmax_args;
void attune_softmax_args_init(attune_softmax_args *args);
attune_status attune_softmax(const attune_softmax_args *args, attune_call *call);

/* ---- Rotary position embedding (RoFormer, arXiv 2104.09864, eq. 34) --------------------------------------------------- */
typedef enum attune_rotary_layout {
    ATTUNE_ROTARY_HALF = 0,       /* pairs (i, i + R/2), as GPT-NeoX and Llama */
    ATTUNE_ROTARY_INTERLEAVED = 1 /* pairs (2i, 2i + 1), as the paper and GPT-J */
} attune_rotary_layout;

typedef struct attune_rotary_args {
    size_t struct_size;
    attune_tensor x, y; /* same shape, f32, rank 2 to 4: [..., tokens, dim]; innermost stride 1; y may be x itself */
    double base;        /* > 0; 10000 by default */
    attune_rotary_layout layout;
    int64_t rotary_dim; /* even, <= dim: the leading channels rotated; 0: all of dim */
    int64_t offset;     /* position of token 0 */
    const char *schedule;
} attune_rotary_args;
void attune_rotary_args_init(attune_rotary_args *args);
attune_status attune_rotary(const attune_rotary_args *args, attune_call *call);

/* ---- Sinusoidal table (Attention Is All You Need, section 3.5): [tokens, dim], even columns sine, odd columns cosine --- */
typedef struct attune_sinusoidal_args {
    size_t struct_size;
    attune_tensor y; /* f32, rank 2: [tokens, dim], innermost stride 1 */
    double base;     /* > 0; 10000 by default */
    int64_t offset;  /* position of row 0 */
    const char *schedule;
} attune_sinusoidal_args;
void attune_sinusoidal_args_init(attune_sinusoidal_args *args);
attune_status attune_sinusoidal(const attune_sinusoidal_args *args, attune_call *call);

#ifdef __cplusplus
}
#endif

#endif
