/* Decoding with a cache, from C99: a prompt, then token after token, each appended and attended over in one call. The cache is a pool of
 * pages; the sequence takes them in any order. */
#include <attune/attune.h>

#include <math.h>
#include <stdio.h>

enum { dim = 2, page_tokens = 2, pages = 4 };

/* The step's queries, keys and values: `tokens` tokens behind those that are in the cache. */
static attune_status step(const attune_attention_plan *plan, const attune_cache *cache, float (*qk)[dim], float (*v)[dim], int64_t tokens,
                          float (*out)[dim]) {
    const int64_t shape[] = {1, 1, tokens, dim}; /* batch, heads, tokens, dim */
    attune_attention_args args;
    attune_attention_args_init(&args);
    args.q = args.k = attune_contiguous(qk, ATTUNE_F32, 4, shape);
    args.v = attune_contiguous(v, ATTUNE_F32, 4, shape);
    args.out = attune_contiguous(out, ATTUNE_F32, 4, shape);
    args.cache = cache;
    return attune_attention_run(plan, &args, NULL);
}

int main(void) {
    static float pool_k[pages][page_tokens][dim], pool_v[pages][page_tokens][dim];
    float zeros[5][dim] = {{0}}, values[5][dim] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}}, out[5][dim], sum[dim] = {0};
    int32_t length = 0, block_table[] = {2, 0, 3};
    const int64_t pool_shape[] = {pages, 1, page_tokens, dim}, one[] = {1}, table_shape[] = {1, 3};
    const attune_tensor table = attune_contiguous(block_table, ATTUNE_I32, 2, table_shape);
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_plan *plan = NULL;
    attune_cache cache;
    int right = 1;

    desc.head_dim = dim;
    desc.mask = "causal";
    attune_cache_init(&cache);
    cache.k = attune_contiguous(pool_k, ATTUNE_F32, 4, pool_shape);
    cache.v = attune_contiguous(pool_v, ATTUNE_F32, 4, pool_shape);
    cache.lengths = attune_contiguous(&length, ATTUNE_I32, 1, one);
    cache.block_table = &table;

    attune_status status = attune_attention_plan_create(&desc, &plan);
    if (status == ATTUNE_OK) status = step(plan, &cache, zeros, values, 3, out); /* the prompt: three tokens */
    for (length = 3; status == ATTUNE_OK && length < 5; length++)                /* then one by one; the call leaves `length` alone */
        status = step(plan, &cache, zeros + length, values + length, 1, out + length);
    if (status != ATTUNE_OK) fprintf(stderr, "%s\n", attune_error_message());
    attune_attention_plan_destroy(plan);
    if (status != ATTUNE_OK) return 1;

    for (int i = 0; i < 5; i++) { /* all scores are 0: each output is the mean of the values so far */
        printf("token %d: %.4f %.4f\n", i, out[i][0], out[i][1]);
        for (int d = 0; d < dim; d++) {
            sum[d] += values[i][d];
            right = right && fabsf(out[i][d] - sum[d] / (float)(i + 1)) < 1e-5f;
        }
    }
    return right ? 0 : 1;
}
