/* Attune's C interface: attention, softmax and positional encoding from kernels generated ahead of time.
 *
 * Tensors are described by `attune_tensor`; nothing is owned or copied. Every function checks its arguments before any
 * kernel runs and returns an `attune_status`; `attune_error_message` then gives one sentence that names the argument, its
 * value and the limit. Nothing is written to an output when a call is refused so; only where a thread pool of the caller's own fails, or
 * memory runs out, in the middle of a kernel is a part (and new tokens may be in a cache, which counts them only once its lengths do). No
 * function aborts or throws.
 *
 * A call takes up to some 100 KiB of its thread's stack.
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
    ATTUNE_UNSUPPORTED = 2,      /* no linked kernel does this, or this CPU or GPU can't run it */
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
    ATTUNE_BOOL = 6, /* one byte, zero or not */
    ATTUNE_I8 = 7    /* of caches, with a scale for each row */
} attune_type;

/* "f32", "bf16", ...; of a number that is none of the above "of no known type". */
const char *attune_type_name(attune_type type);
/* Bytes of an element; 0 of no type. */
size_t attune_type_size(attune_type type);

/* Where a tensor's memory is, and where a kernel runs. ATTUNE_CUDA: an NVIDIA GPU; see attune_cuda_status. */
typedef enum attune_device { ATTUNE_CPU = 0, ATTUNE_CUDA = 1 } attune_device;

/* "cpu", "cuda"; of any other number "no known device". */
const char *attune_device_name(attune_device device);

/* A view of memory the caller owns. Axes run outermost first: [batch, heads, tokens, dim]. Strides count elements and may
 * be zero in an input (broadcast). The innermost axis of q, k, v and outputs must have stride 1. On ATTUNE_CUDA `data` is a
 * device pointer (CUdeviceptr). All tensors of a call are on one device. */
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
    attune_parallel_for parallel_for; /* NULL: Attune's own threads; otherwise the caller's pool, which is to have as many */
    void *pool;                       /* handed to parallel_for */
    size_t workspace_bytes;           /* out: the most scratch memory this call held at once: of tasks the sum of each thread's most */
    void *stream;                     /* of calls on ATTUNE_CUDA: the CUstream (cudaStream_t) they launch on; NULL: the default stream */
} attune_call;
#define ATTUNE_CALL_INIT                                                                                                                   \
    { sizeof(attune_call), 0, NULL, NULL, 0, NULL }

/* Gives back the memory kept from finished calls: scratch, and tables of positions. Calls that run meanwhile aren't touched. */
void attune_release_memory(void);

/* A generated kernel: what it computes and how to call it. The prebuilt ones are linked in (attune_kernel_at); CMake's
 * attune_add_kernel emits one `const attune_kernel NAME_kernel` for each kernel of a user's own. */
typedef struct attune_kernel {
    size_t struct_size;
    const char *name;      /* "attention_flash_f32_d64" */
    const char *operation; /* "attention", "attention_weights", "softmax", "log_softmax", "rotary_half", ... */
    const char *schedule;  /* "flash" */
    const char *targets;   /* Halide target strings, comma-separated, best first; on ATTUNE_CUDA the machine code that is there and the
                              virtual architecture of its PTX: "sm_80,sm_90,compute_80" */
    attune_type dtype;
    attune_type cache_dtype; /* of k and v: dtype, or ATTUNE_I8 */
    int32_t head_dim;        /* D and Dv it is compiled for; 0: any */
    int32_t value_dim;
    const char *mask;     /* text compiled in; "": none (prebuilt kernels), or one written in C++, which no weights can be given for */
    const char *score;    /* likewise: "softcap(30) alibi" */
    const char *position; /* likewise: "rotary(half)" */
    int32_t param_count;  /* names in the mask, which become run-time parameters */
    const char *const *params;
    int (*call)(void **arguments); /* Halide's argv entry point */
    attune_device device;
    int32_t word_channels; /* 2: an element of q, k, v and out is a 32-bit word of two channels; 0: it is a channel */
} attune_kernel;

/* The prebuilt kernels: index 0 ... attune_kernel_count() - 1; NULL past the end. */
int32_t attune_kernel_count(void);
const attune_kernel *attune_kernel_at(int32_t index);

/* The CPU class kernels run as: "avx512_zen5", "avx512_bf16", "avx512_amx", "avx512", "avx2" or "x86-64", the fastest one this CPU runs.
 * The environment's ATTUNE_CPU names another, no higher than the CPU offers. On a CPU with AMX, without ATTUNE_CPU or with
 * "avx512_amx", the process asks Linux for its tiles; from then on alternate signal stacks must have sysconf(_SC_MINSIGSTKSZ) bytes, and
 * with a smaller one set before the class is "avx512". */
const char *attune_cpu_class(void);

/* ---- CUDA: tensors, plans and calls on ATTUNE_CUDA ------------------------------------------------------------------------
 *
 * A call launches its kernels on `attune_call.stream`, in the calling thread's current CUDA context (what PyTorch and cudaSetDevice set),
 * or in the primary context of device 0 where the thread has none. It neither copies nor waits: results are there when the stream gets
 * past them, and what a kernel meets while it runs is reported by whoever synchronises. Numbers in device tensors (lengths, offsets,
 * positions, block tables) are therefore not checked; kernels clamp lengths to 0 ... M, and new tokens that a cache has no place for are
 * left out. `threads`, `parallel_for` and workspace_bytes mean nothing.
 * The driver, libcuda.so.1, is loaded by the first such call: without one everything on ATTUNE_CPU works. */

/* ATTUNE_OK where there are a driver and a device that Attune's kernels run on (the current context's, or device 0); otherwise
 * ATTUNE_UNSUPPORTED, and the message says what is missing. */
attune_status attune_cuda_status(void);
/* That device, for people: "NVIDIA H200, compute capability 9.0"; "" where there is none. Valid until the calling thread's next call. */
const char *attune_cuda_device_name(void);

/* ---- Attention: dropout(softmax(mask(biases(softcap(scale q k^T))) / temperature)) v -------------------------------- */

/* What a plan is made for. Everything here is structure; numbers come with each run. */
typedef struct attune_attention_desc {
    size_t struct_size;
    attune_type dtype;           /* of q, k, v and out */
    int64_t head_dim;            /* D: width of q and k */
    int64_t value_dim;           /* Dv: width of v and out; 0: as head_dim */
    const char *mask;            /* textual mask, e.g. "causal & window(256, 0)"; NULL or "none": no mask */
    const char *score;           /* textual score, e.g. "softcap(30) alibi"; NULL or "none": the dot product as it is */
    const char *position;        /* textual position, e.g. "rotary(half, base=500000)", applied to q and k; NULL or "none": as they are */
    const char *schedule;        /* name; NULL: Attune's choice, "decode" for few queries, "flash" for more, and for many of f32 or f16 on
                                    a CPU of class "avx512_amx" "flash_bf16x3" or "flash_bf16x2"; on ATTUNE_CUDA "wgmma" for bf16 and f16
                                    on tensor cores of capability 9.0, "mma" on others, otherwise "simt" */
    const attune_kernel *kernel; /* a kernel from attune_add_kernel, for `device`, to use instead of the prebuilt ones; or NULL */
    attune_type cache_dtype;     /* ATTUNE_I8: every run has a cache of int8 keys and values; 0: of dtype, where it has one */
    /* ATTUNE_CUDA: every tensor of a run is on the GPU. There a mask is `&` of causal, window, lengths and none, a score softcap and alibi;
       other masks, boolean tensors and documents are for kernels of attune_add_kernel that have them compiled in. Weights, scores, dropout,
       document_starts, block maps, t5, positions, and caches that are rings or int8 are refused; documents, key_lengths, offsets, and a
       cache's lengths and block table are i32. bf16 and f16 tensors start at multiples of 16 bytes, their strides are multiples of 8, and
       pages of a block table have a power of two of tokens, where the schedule is "wgmma", "mma" or "split_kv". */
    attune_device device;
} attune_attention_desc;
#define ATTUNE_ATTENTION_DESC_INIT                                                                                                         \
    { sizeof(attune_attention_desc), ATTUNE_F32, 0, 0, NULL, NULL, NULL, NULL, NULL, (attune_type)0, ATTUNE_CPU }

/* An immutable plan: the kernels chosen among which a run takes one, and its texts parsed. May run from many threads at once. */
typedef struct attune_attention_plan attune_attention_plan;

attune_status attune_attention_plan_create(const attune_attention_desc *desc, attune_attention_plan **plan);
void attune_attention_plan_destroy(attune_attention_plan *plan); /* NULL is fine */
/* The kernel the plan runs; where the choice is Attune's, that for many queries. Lives as long as the program. */
const attune_kernel *attune_attention_plan_kernel(const attune_attention_plan *plan);
/* The kernel it runs for N queries of Hq heads that share Hkv key/value heads, and M keys, where neither weights nor scores are asked for:
   Attune's choice for few queries is "decode", on ATTUNE_CUDA and for many keys "split_kv". NULL for a NULL plan, and for numbers that no
   run could have. */
const attune_kernel *attune_attention_plan_kernel_for(const attune_attention_plan *plan, int64_t queries, int64_t heads, int64_t kv_heads,
                                                      int64_t keys);

/* Which scores the output `scores` gives, in the order of computation. */
typedef enum attune_score_stage {
    ATTUNE_SCORES_SCALED = 1, /* scale q k^T */
    ATTUNE_SCORES_CAPPED = 2, /* after soft capping */
    ATTUNE_SCORES_MASKED = 3  /* after biases, -inf where masked; before the temperature */
} attune_score_stage;

/* A cache of keys and values (attune_attention_args::cache). A run appends its k and v, [B,Hkv,T,D] and [B,Hkv,T,Dv], to the cache, in
 * place, and attends over all of it: token t of item b becomes token lengths[b] + t of that item. T may be 0, and N too, to append only.
 *
 * The cache is made of pages of S tokens. Without a block table each item has one page of its own: k is [B,Hkv,capacity,D]. With one, k
 * and v are pools that items take pages from. Any strides do: a pool may lie in memory as [P,S,Hkv,D].
 *
 * M, the keys that mask tensors, biases and documents speak of, is the capacity: S, or S times the columns of the table. Queries are the
 * last N tokens of their item, query 0 standing at lengths[b] + T - N, unless offset or offsets say otherwise. A position (rotary and so
 * on) turns q and the new k; what the cache holds has been turned already. */
typedef struct attune_cache {
    size_t struct_size;
    attune_tensor k, v;               /* [P,Hkv,S,D] and [P,Hkv,S,Dv], of the plan's cache_dtype; P = B without a block table */
    attune_tensor lengths;            /* i32 or i64 [B]: tokens in the cache before this run, which leaves the numbers as they are */
    const attune_tensor *block_table; /* optional, i32 or i64 [B,columns]: token j of item b is token j mod S of page table[b, j / S]. Only
                                         entries of tokens that are there, the new ones included, are looked at */
    /* Non-zero: a ring, for masks with a window. Token j takes the place j mod capacity, so that lengths may be any; masks still speak of
       positions in the whole sequence. No query may attend to a token that was overwritten: window(W, 0), T new tokens and as many
       queries need a capacity of W + T. Of masks only causal, window, lengths and dilated say what a ring needs, without an alignment;
       tensors of cells have extent 1 along M; and there are no weights, scores or dropout. */
    int32_t ring;
    /* Of ATTUNE_I8 alone: f32 [P,Hkv,S]. A row x is kept as scale = max |x| / 127 and x / scale rounded to nearest, ties to even. A row
       with a NaN or an Inf gets the scale NaN: it reads as NaN, and so does what attends to it. */
    const attune_tensor *k_scale, *v_scale;
    int64_t new_tokens; /* how many tokens k and v must be: attune_kv_cache_layer says for how many there are pages; -1 by default: any */
} attune_cache;
void attune_cache_init(attune_cache *cache);

/* One run. Shapes: q [B,Hq,N,D], k [B,Hkv,M,D], v [B,Hkv,M,Dv], out [B,Hq,N,Dv], Hq a multiple of Hkv (grouped heads). With a cache k and
 * v are the T new tokens, and M is the cache's. */
typedef struct attune_attention_args {
    size_t struct_size;
    attune_tensor q, k, v, out;
    const attune_tensor *lse;     /* optional output, f32 [B,Hq,N]: log-sum-exp of the scores entering softmax */
    const attune_tensor *weights; /* optional output, f32 [B,Hq,N,M]: after dropout */
    const attune_tensor *scores;  /* optional output, f32 [B,Hq,N,M]: the scores at `score_stage`; past a cache's tokens -inf */
    attune_score_stage score_stage;
    const attune_tensor *boolean_mask; /* optional, ATTUNE_BOOL, rank 4, each axis full or 1 of [B,Hq,N,M]: true attends */
    const attune_tensor *bias;         /* optional, f32, rank 4, likewise; added to the scores; -inf masks */
    const attune_tensor *key_lengths;  /* optional, i32 or i64 [B]: keys j < length, 0 <= length <= M. For the mask's term `lengths` if it
                                          has one, otherwise beside the mask */
    /* For the mask's term `documents`: one of the two forms. Ids are any numbers; a query attends to keys of its own id. */
    const attune_tensor *documents;       /* i32 or i64 [B,M] or [1,M]: the document of each key */
    const attune_tensor *query_documents; /* i32 or i64 [B,N] or [1,N]: of each query; NULL: as `documents`, where N = M */
    const attune_tensor *document_starts; /* i32 or i64 [S+1], rising from 0 to M (cu_seqlens): document s is keys starts[s] to
                                             starts[s + 1] - 1, in every batch item; and queries likewise, where N = M */
    const attune_tensor *block_map; /* for the mask's term blocks(Q, K): ATTUNE_BOOL, rank 4, the first two axes full or 1 of [B,Hq], then
                                       ceil(N / Q), ceil(M / K): true where the block of Q queries attends to the block of K keys */
    const attune_tensor *t5_table;  /* for the score's term t5: f32 [buckets, Hq], the learned bias of each bucket */
    const attune_tensor *sinks;     /* optional, f32 [Hq]: one more logit a head, which takes weight and adds nothing */
    /* For the position: i32 or i64, [N], [B,N] or, with mrope or axes, [S,B,N] (positions of queries) and the same with M (keys). NULL:
       query i stands at i + offset, key j at j. Without key_positions and N = M, positions serve for both. */
    const attune_tensor *positions;
    const attune_tensor *key_positions;
    const attune_tensor *position_table; /* for the position `learned`: f32 [P, D], row p is added to what stands at p */
    const attune_tensor *offsets;        /* optional, i32 or i64 [B]: key position of query 0, per batch item */
    int32_t has_offset;                  /* with `offset`, one offset for all batch items */
    int64_t offset;
    int32_t has_scale;     /* 0: scale is 1 / sqrt(D) */
    float scale;           /* finite */
    float softcap;         /* c > 0: scores become c tanh(s / c); 0: none */
    float temperature;     /* > 0 */
    float dropout;         /* 0 <= p < 1: each weight is dropped with probability p, the others divided by 1 - p */
    uint64_t seed;         /* of dropout: Philox 4x32-10 with this key and the weight's place as counter */
    const int32_t *params; /* values of the kernel's named parameters, param_count of them */
    int32_t param_count;
    const attune_cache *cache; /* optional: written to, and attended over; key_lengths must be NULL then */
} attune_attention_args;

/* Fills in the defaults: no optional tensor, scale 1 / sqrt(D), no softcap, temperature 1. */
void attune_attention_args_init(attune_attention_args *args);

/* `call` may be NULL. */
attune_status attune_attention_run(const attune_attention_plan *plan, const attune_attention_args *args, attune_call *call);

/* ---- Softmax over one axis: exp(x / T - logsumexp(x / T)), or its logarithm ------------------------------------------- */
typedef struct attune_softmax_args {
    size_t struct_size;
    attune_tensor x, y;        /* same shape, f32, f16 or bf16, any strides; y may be x itself */
    int32_t axis;              /* 0 to rank - 1, or -rank to -1 counted from the end; -1 by default */
    const attune_tensor *mask; /* optional, ATTUNE_BOOL, rank of x, each axis full or 1: true counts; false gets 0 (logarithm: -inf) */
    float temperature;         /* > 0 */
    int32_t log;               /* non-zero: log-softmax */
    const char *schedule;      /* name; NULL: Attune's choice, "vectorized"; on ATTUNE_CUDA "warps" for rows of up to 1024, "wide" for
                                  those of more than 16384, else "simt" */
} attune_softmax_args;
void attune_softmax_args_init(attune_softmax_args *args);
attune_status attune_softmax(const attune_softmax_args *args, attune_call *call);

/* ---- Log-sum-exp over one axis: ln sum exp(x / T); -inf where nothing counts ------------------------------------------- */
typedef struct attune_log_sum_exp_args {
    size_t struct_size;
    attune_tensor x;           /* f32, any strides */
    attune_tensor y;           /* f32, the shape of x with extent 1 on the axis */
    int32_t axis;              /* as for softmax */
    const attune_tensor *mask; /* as for softmax */
    float temperature;         /* > 0 */
    const char *schedule;      /* as for softmax */
} attune_log_sum_exp_args;
void attune_log_sum_exp_args_init(attune_log_sum_exp_args *args);
attune_status attune_log_sum_exp(const attune_log_sum_exp_args *args, attune_call *call);

/* ---- Merge: attention over the union of two disjoint sets of keys, from the results over each ------------------------- */
typedef struct attune_merge_args {
    size_t struct_size;
    attune_tensor a, a_lse; /* f32 [B,H,N,Dv] and f32 [B,H,N]: output and log-sum-exp of one part */
    attune_tensor b, b_lse; /* of the other */
    attune_tensor out;      /* f32 [B,H,N,Dv]; may be a or b itself */
    attune_tensor lse;      /* f32 [B,H,N]; may be a_lse or b_lse itself */
    const char *schedule;
} attune_merge_args;
void attune_merge_args_init(attune_merge_args *args);
attune_status attune_merge(const attune_merge_args *args, attune_call *call);

/* ---- ALiBi's slopes (Press et al., arXiv 2108.12409, section 3): f32 [heads], 2^(-8 (h + 1) / heads), interpolated as its
 *      authors do where heads is no power of two -------------------------------------------------------------------------- */
typedef struct attune_alibi_slopes_args {
    size_t struct_size;
    attune_tensor y; /* f32 [heads] */
    const char *schedule;
} attune_alibi_slopes_args;
void attune_alibi_slopes_args_init(attune_alibi_slopes_args *args);
attune_status attune_alibi_slopes(const attune_alibi_slopes_args *args, attune_call *call);

/* ---- Rotary position embedding (RoFormer, arXiv 2104.09864, eq. 34) --------------------------------------------------- */
typedef enum attune_rotary_layout {
    ATTUNE_ROTARY_HALF = 0,       /* pairs (i, i + R/2), as GPT-NeoX and Llama */
    ATTUNE_ROTARY_INTERLEAVED = 1 /* pairs (2i, 2i + 1), as the paper and GPT-J */
} attune_rotary_layout;

typedef struct attune_rotary_args {
    size_t struct_size;
    attune_tensor x, y; /* same shape, f32, f16 or bf16, rank 2 to 4: [..., tokens, dim]; innermost stride 1; y may be x itself */
    double base;        /* > 0; 10000 by default */
    attune_rotary_layout layout;
    int64_t rotary_dim;             /* even, <= dim: the leading channels rotated; 0: all of dim */
    int64_t offset;                 /* position of token 0, without `positions` */
    const attune_tensor *positions; /* optional, i32 or i64: [tokens], [batch, tokens] or, with sections or axes, [S, batch, tokens]; the
                                       batch is the first axis of x of rank 3 or 4, or 1 */
    const char *scaling; /* NULL, "linear(s)", "ntk(s)", "yarn(s, original)" or "llama3(s, low, high, original)": as in a position's text */
    const int32_t *sections; /* M-RoPE: pairs that follow positions[0], positions[1] ...; they add up to rotary_dim / 2. NULL: none */
    int32_t section_count;   /* 0 to 8 */
    int32_t axes;            /* 2 to 8: equal shares of the pairs, each an embedding of its own of positions[0], positions[1] ... */
    /* Tables of the caller's own in place of base, scaling, sections and axes: both or neither, f32 [P, rotary_dim / 2], any numbers. Row p
       turns what stands at position p, 0 to P - 1. */
    const attune_tensor *cosines;
    const attune_tensor *sines;
    const char *schedule;
} attune_rotary_args;
void attune_rotary_args_init(attune_rotary_args *args);
attune_status attune_rotary(const attune_rotary_args *args, attune_call *call);

/* ---- Sinusoidal table (Attention Is All You Need, section 3.5): [tokens, dim], even columns sine, odd columns cosine --- */
typedef struct attune_sinusoidal_args {
    size_t struct_size;
    attune_tensor y; /* f32, f16 or bf16 (the f32 numbers rounded once), rank 2: [tokens, dim], innermost stride 1 */
    double base;     /* > 0; 10000 by default */
    int64_t offset;  /* position of row 0 */
    const char *schedule;
} attune_sinusoidal_args;
void attune_sinusoidal_args_init(attune_sinusoidal_args *args);
attune_status attune_sinusoidal(const attune_sinusoidal_args *args, attune_call *call);

/* ---- Positions added to the input: y = x + table[position], a learned table, or the sinusoidal one -------------------- */
typedef struct attune_add_positions_args {
    size_t struct_size;
    attune_tensor x, y;         /* same shape, f32, f16 or bf16, rank 2 to 4: [..., tokens, dim]; innermost stride 1; y may be x itself */
    const attune_tensor *table; /* f32 [P, dim], whatever x is; NULL: the sinusoidal table. With it ATTUNE_CUDA takes no positions */
    double base;                /* of the sinusoidal table; 10000 by default */
    int64_t offset;             /* position of token 0, without `positions` */
    const attune_tensor *positions; /* optional, i32 or i64: [tokens] or [batch, tokens], as attune_rotary; 0 to P - 1 with a table */
    const char *schedule;
} attune_add_positions_args;
void attune_add_positions_args_init(attune_add_positions_args *args);
attune_status attune_add_positions(const attune_add_positions_args *args, attune_call *call);

/* ---- A cache of many sequences, for all layers of a model, that owns its memory ---------------------------------------- */

/* Sequences grow by pages that they take from those all share. One that is forked from another reads the other's pages, until either writes
 * to one: then that page alone is copied. */
typedef struct attune_kv_cache_desc {
    size_t struct_size;
    attune_type dtype;   /* ATTUNE_F32, F16, BF16, or I8 with a scale for each row: see attune_cache */
    int32_t layers;      /* 1 or more */
    int64_t kv_heads;    /* Hkv */
    int64_t head_dim;    /* D */
    int64_t value_dim;   /* Dv; 0: as head_dim */
    int64_t capacity;    /* tokens that a sequence may have */
    int64_t pages;       /* of page_tokens tokens each, in all; memory is used as pages are first written */
    int64_t page_tokens; /* S; 0: 64, or the capacity if that is less */
} attune_kv_cache_desc;
#define ATTUNE_KV_CACHE_DESC_INIT                                                                                                          \
    { sizeof(attune_kv_cache_desc), ATTUNE_F32, 1, 0, 0, 0, 0, 0, 0 }

/* Changed by one thread at a time. */
typedef struct attune_kv_cache attune_kv_cache;

attune_status attune_kv_cache_create(const attune_kv_cache_desc *desc, attune_kv_cache **cache);
void attune_kv_cache_destroy(attune_kv_cache *cache); /* NULL is fine */

/* Starts a sequence of no tokens, and gives its number. */
attune_status attune_kv_cache_add(attune_kv_cache *cache, int64_t *sequence);
/* Starts a sequence that has the first `tokens` tokens of another, and gives its number: a prompt is computed once. */
attune_status attune_kv_cache_fork(attune_kv_cache *cache, int64_t sequence, int64_t tokens, int64_t *fork);
/* Forgets all tokens of a sequence but the first `tokens`. It and the next also drop a batch that has begun. */
attune_status attune_kv_cache_truncate(attune_kv_cache *cache, int64_t sequence, int64_t tokens);
/* Forgets a sequence; its number may be given again. */
attune_status attune_kv_cache_remove(attune_kv_cache *cache, int64_t sequence);
int64_t attune_kv_cache_length(const attune_kv_cache *cache, int64_t sequence); /* tokens; -1 if there is no such sequence */
int64_t attune_kv_cache_free_pages(const attune_kv_cache *cache);               /* -1 of NULL */

/* One step of a model: `begin` makes `count` different sequences the items of a batch, with room for new_tokens more tokens of each
 * (ATTUNE_OUT_OF_MEMORY where pages run out); `layer` gives what attune_attention_args::cache takes for one layer, for runs with that many
 * new tokens, valid until the cache is next changed; `end` lengthens the sequences. A batch that isn't ended is dropped by the next `begin`
 * that succeeds, and the tokens with it. */
attune_status attune_kv_cache_begin(attune_kv_cache *cache, const int64_t *sequences, int64_t count, int64_t new_tokens);
attune_status attune_kv_cache_layer(const attune_kv_cache *cache, int32_t layer, attune_cache *view);
attune_status attune_kv_cache_end(attune_kv_cache *cache);

/* ---- Cache writes: new tokens of each batch item into a cache, in place (ONNX TensorScatter) --------------------------- */
/* On ATTUNE_CUDA: f32, f16 or bf16, rank 2 to 4, starts i32; a token whose start leaves it no place isn't written, for the numbers can't be
 * looked at. */
typedef struct attune_cache_write_args {
    size_t struct_size;
    attune_tensor cache;         /* any type, rank 2 to 8: [B, ..., capacity, ...] */
    attune_tensor update;        /* the same type and shape, but for `axis`: the new tokens */
    int32_t axis;                /* the tokens' axis: 1 to rank - 1, or from the end; -2 by default */
    const attune_tensor *starts; /* i32 or i64 [B]: where each item's first new token goes; NULL: 0 */
    int32_t circular;            /* non-zero: positions count modulo the capacity; otherwise they must fit */
} attune_cache_write_args;
void attune_cache_write_args_init(attune_cache_write_args *args);
attune_status attune_cache_write(const attune_cache_write_args *args, attune_call *call);

/* ---- Linear layer: y = activation(x W^T + b) + residual; with a gate y = activation(x G^T) (x W^T + b) + residual (SwiGLU and its kin:
 *      Shazeer, arXiv 2002.05202, eq. 6) ---------------------------------------------------------------------------------- */
typedef enum attune_activation {
    ATTUNE_ACTIVATION_NONE = 0,
    ATTUNE_RELU = 1,
    ATTUNE_GELU = 2,      /* exact: x Phi(x) */
    ATTUNE_GELU_TANH = 3, /* its approximation by tanh, as GPT-2 */
    ATTUNE_SILU = 4       /* x / (1 + e^-x) */
} attune_activation;

/* Q, K and V projected in one: W = [Wq; Wk; Wv] gives rows that attention reads as views. */
typedef struct attune_linear_desc {
    size_t struct_size;
    attune_type dtype;         /* ATTUNE_F32 or ATTUNE_BF16: of x, residual and y, and what weights are kept in. Sums are f32 */
    attune_tensor weight;      /* W: f32 or bf16 [out, in], any strides */
    const attune_tensor *bias; /* b: f32 or bf16 [out]; NULL: none */
    attune_activation activation;
    const attune_tensor *gate; /* G, as weight; NULL: none */
    const char *schedule;      /* name; NULL: Attune's choice, "row" for one row, "rows" for up to 4, "eight_rows" for up to 8, "tiles"
                                  for more: the same bits */
} attune_linear_desc;
void attune_linear_desc_init(attune_linear_desc *desc);

/* An immutable layer, with its weights packed: the caller's may go. May run from many threads at once. */
typedef struct attune_linear attune_linear;

attune_status attune_linear_create(const attune_linear_desc *desc, attune_linear **linear);
void attune_linear_destroy(attune_linear *linear); /* NULL is fine */
/* The kernel it runs for that many rows. NULL for a NULL layer, and for less than 0. */
const attune_kernel *attune_linear_kernel_for(const attune_linear *linear, int64_t rows);
int64_t attune_linear_in(const attune_linear *linear);   /* channels of x; 0 for NULL */
int64_t attune_linear_out(const attune_linear *linear);  /* channels of y; 0 for NULL */
size_t attune_linear_bytes(const attune_linear *linear); /* of packed weights and bias; 0 for NULL */

typedef struct attune_linear_args {
    size_t struct_size;
    attune_tensor x;               /* [..., in], of the layer's dtype; any strides, the last 1 */
    attune_tensor y;               /* [..., out], likewise */
    const attune_tensor *residual; /* optional, the shape of y; may be y itself */
} attune_linear_args;
void attune_linear_args_init(attune_linear_args *args);

/* A row's result doesn't depend on the other rows, however many there are. `call` may be NULL. */
attune_status attune_linear_run(const attune_linear *linear, const attune_linear_args *args, attune_call *call);

/* ---- Norms of rows: layer norm, (x - mean) / sqrt(variance + epsilon) w + b (Ba et al., arXiv 1607.06450), and RMS norm,
 *      x / sqrt(mean of x^2 + epsilon) w (Zhang and Sennrich, arXiv 1910.07467) ------------------------------------------- */
typedef struct attune_norm_args {
    size_t struct_size;
    attune_tensor x, y;          /* same shape, f32 or bf16: [..., C]; any strides, the last 1; y may be x itself */
    const attune_tensor *weight; /* w: f32 or bf16 [C]; NULL: ones */
    const attune_tensor *bias;   /* b, of layer norm: f32 or bf16 [C]; NULL: zeros */
    float epsilon;               /* 0 or more; 1e-5 by default */
    /* Both or neither, as x: sum = x + residual is written, and normalised. sum may be x or residual itself. */
    const attune_tensor *residual, *sum;
    const char *schedule;
} attune_norm_args;
void attune_norm_args_init(attune_norm_args *args);
attune_status attune_layer_norm(const attune_norm_args *args, attune_call *call);
attune_status attune_rms_norm(const attune_norm_args *args, attune_call *call);

/* ---- Embedding: y = table[id], plus a learned position's row ----------------------------------------------------------- */
typedef struct attune_embedding_args {
    size_t struct_size;
    attune_tensor ids;              /* i32 or i64 [..., tokens], any strides, 0 to vocab - 1 */
    attune_tensor table;            /* f32 or bf16 [vocab, C], innermost stride 1 */
    const attune_tensor *positions; /* optional, of table's type [P, C]: row offset + t is added to token t */
    int64_t offset;
    attune_tensor y; /* of table's type [..., tokens, C], innermost stride 1 */
} attune_embedding_args;
void attune_embedding_args_init(attune_embedding_args *args);
attune_status attune_embedding(const attune_embedding_args *args);

/* ---- Multi-head attention (Attention Is All You Need, section 3.2.2): concat(head_1, ..., head_H) Wo^T + bo, where head_h =
 *      attention(query Wq_h^T + bq_h, key Wk_h^T + bk_h, value Wv_h^T + bv_h) ----------------------------------------------- */
typedef enum attune_mask_polarity {
    ATTUNE_TRUE_ATTENDS = 1, /* as attention's boolean_mask */
    ATTUNE_TRUE_MASKS = 2    /* as torch.nn.MultiheadAttention's attn_mask and key_padding_mask */
} attune_mask_polarity;

typedef struct attune_mha_desc {
    size_t struct_size;
    attune_type dtype; /* ATTUNE_F32 or ATTUNE_BF16: of all inputs and of out */
    int64_t heads;     /* H of queries; 1 by default */
    int64_t kv_heads;  /* of keys and values, a divisor of heads (grouped heads); 0: as heads */
    /* Weights [out, in] as attune_linear_desc takes them; head h has rows h D to (h + 1) D - 1. Rank 0: no projection, the input has the
       heads side by side already, such as a slice of what one linear layer gave for queries, keys and values. */
    attune_tensor query_weight;         /* [heads D, d_in] */
    attune_tensor key_weight;           /* [kv_heads D, kdim] */
    attune_tensor value_weight;         /* [kv_heads Dv, vdim] */
    int64_t head_dim;                   /* D; 0: as query_weight and key_weight have it, if both are given */
    int64_t value_dim;                  /* Dv; 0: as value_weight has it, or else D */
    const attune_tensor *query_bias;    /* [heads D]; NULL: none. The others likewise, each on its own */
    const attune_tensor *key_bias;      /* [kv_heads D] */
    const attune_tensor *value_bias;    /* [kv_heads Dv] */
    const attune_tensor *output_weight; /* Wo: [d_out, heads Dv]; NULL: out is the heads side by side, d_out = heads Dv */
    const attune_tensor *output_bias;   /* [d_out] */
    const char *mask;                   /* textual mask, score and position, as in attune_attention_desc: "causal", ..., "rotary(half)" */
    const char *score;
    const char *position;
    int64_t context_length; /* the most tokens that queries and keys may have, those in a cache among them; 0: no limit */
    const char *schedule;   /* of attention; NULL: Attune's choice */
    attune_type cache_dtype;
} attune_mha_desc;
void attune_mha_desc_init(attune_mha_desc *desc);

/* An immutable layer, with its weights packed: the caller's may go. May run from many threads at once. */
typedef struct attune_mha attune_mha;

attune_status attune_mha_create(const attune_mha_desc *desc, attune_mha **mha);
void attune_mha_destroy(attune_mha *mha);       /* NULL is fine */
int64_t attune_mha_out(const attune_mha *mha);  /* channels of out; 0 for NULL */
size_t attune_mha_bytes(const attune_mha *mha); /* of packed weights and biases; 0 for NULL */

typedef struct attune_mha_args {
    size_t struct_size;
    attune_tensor query;              /* [B,N,d_in], or [N,d_in] for a batch of 1; the other three have the same rank. Last strides are 1 */
    const attune_tensor *key;         /* [B,M,kdim]; NULL: query (self-attention) */
    const attune_tensor *value;       /* [B,M,vdim]; NULL: key */
    attune_tensor out;                /* [B,N,d_out] */
    const attune_tensor *residual;    /* optional, the shape of out, added to it; may be out itself. Only with an output_weight */
    const attune_tensor *mask;        /* optional, ATTUNE_BOOL, [N,M], or rank 4 with each axis full or 1 of [B,heads,N,M] */
    const attune_tensor *key_padding; /* optional, ATTUNE_BOOL [B,M] */
    attune_mask_polarity polarity;    /* of mask and key_padding: what true says. There is no default */
    /* All else about the run: weights [B,heads,N,M], dropout and seed, scale, lengths, cache ... q, k, v and out are the layer's. */
    attune_attention_args attention;
} attune_mha_args;
void attune_mha_args_init(attune_mha_args *args);

/* `call` may be NULL. */
attune_status attune_mha_run(const attune_mha *mha, const attune_mha_args *args, attune_call *call);

#ifdef __cplusplus
}
#endif

#endif
