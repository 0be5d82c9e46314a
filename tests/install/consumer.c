/* A small C program that uses Attune: with all scores equal, the output is the mean of the values. */
#include <attune/attune.h>
#include <math.h>
#include <stdio.h>

int main(void) {
    float query[] = {0, 0}, key[] = {1, 2, 3, 4}, value[] = {1, 2, 5, 10}, out[2] = {0, 0};
    const int64_t one_token[] = {1, 1, 1, 2}, two_tokens[] = {1, 1, 2, 2};

    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_plan *plan = NULL;
    desc.head_dim = 2;
    desc.schedule = "reference";
    attune_status status = attune_attention_plan_create(&desc, &plan);

    if (status == ATTUNE_OK) {
        attune_attention_args args;
        attune_attention_args_init(&args);
        args.q = attune_contiguous(query, ATTUNE_F32, 4, one_token);
        args.k = attune_contiguous(key, ATTUNE_F32, 4, two_tokens);
        args.v = attune_contiguous(value, ATTUNE_F32, 4, two_tokens);
        args.out = attune_contiguous(out, ATTUNE_F32, 4, one_token);
        status = attune_attention_run(plan, &args, NULL);
    }
    if (status != ATTUNE_OK) fprintf(stderr, "%s\n", attune_error_message());
    attune_attention_plan_destroy(plan);

    printf("%g %g\n", out[0], out[1]);
    return status == ATTUNE_OK && fabsf(out[0] - 3) < 1e-5f && fabsf(out[1] - 6) < 1e-5f ? 0 : 1;
}
