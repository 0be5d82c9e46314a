# The prebuilt variants, one a row. A row is all it takes: the library holds the kernel, attune_kernel_at() lists it, and so plans
# choose it and tests and benchmarks run it. Its name is OPERATION_SCHEDULE_f32, with _dN where it is for one head dimension.
#
# operation, schedule, head_dim (D and Dv; 0: any), targets (CPU classes, best first, x86-64 last: the last one runs unchecked)
#
# Baselines that only answer for correctness are for plain x86-64.

attune_variant(attention          flash        64  avx512 avx2 x86-64)
attune_variant(attention          flash        128 avx512 avx2 x86-64)
attune_variant(attention          flash        0   avx512 avx2 x86-64)
attune_variant(attention          materialized 0   avx512 avx2 x86-64)
attune_variant(attention          reference    0   x86-64)
attune_variant(attention_weights  vectorized   0   avx512 avx2 x86-64)
attune_variant(attention_weights  reference    0   x86-64)
attune_variant(softmax            vectorized   0   avx512 avx2 x86-64)
attune_variant(softmax            reference    0   x86-64)
attune_variant(log_softmax        vectorized   0   avx512 avx2 x86-64)
attune_variant(log_softmax        reference    0   x86-64)
attune_variant(rotary_half        vectorized   0   avx512 avx2 x86-64)
attune_variant(rotary_half        reference    0   x86-64)
attune_variant(rotary_interleaved vectorized   0   avx512 avx2 x86-64)
attune_variant(rotary_interleaved reference    0   x86-64)
attune_variant(sinusoidal         vectorized   0   avx512 avx2 x86-64)
attune_variant(sinusoidal         reference    0   x86-64)
