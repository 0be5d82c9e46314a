/* The C interface, from C99: causal attention of three tokens, their log-sum-exp, and an error's sentence. */
#include <attune/attune.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Causal attention of three tokens of two channels. */
static attune_status attend(float (*q)[2], float (*k)[2], float (*v)[2], float (*out)[2], float *lse) {
    const int64_t shape[] = {1, 1, 3, 2}; /* batch, heads, tokens, dim */
    const attune_tensor lse_out = attune_contiguous(lse, ATTUNE_F32, 3, shape);
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_plan *plan = NULL;
    attune_attention_args args;
    attune_status status;

    desc.head_dim = 2;
    desc.mask = "causal";
    status = attune_attention_plan_create(&desc, &plan);
    if (status != ATTUNE_OK) return status;

    attune_attention_args_init(&args);
    args.q = attune_contiguous(q, ATTUNE_F32, 4, shape);
    args.k = attune_contiguous(k, ATTUNE_F32, 4, shape);
    args.v = attune_contiguous(v, ATTUNE_F32, 4, shape);
    args.out = attune_contiguous(out, ATTUNE_F32, 4, shape);
    args.lse = &lse_out;
    status = attune_attention_run(plan, &args, NULL);
    attune_attention_plan_destroy(plan);
    return status;
}

/* A mask that isn't one: the status says what kind of error it is, the message what is wrong and where. */
static int refuses_a_bad_mask(void) {
    attune_attention_desc desc = ATTUNE_ATTENTION_DESC_INIT;
    attune_attention_plan *plan = NULL;
    desc.head_dim = 2;
    desc.mask = "causal & windo(3, 0)";
    const attune_status status = attune_attention_plan_create(&desc, &plan);
    printf("a bad mask: %s\n", attune_error_message());
    return status == ATTUNE_INVALID_ARGUMENT && plan == NULL && strstr(attune_error_message(), "windo") != NULL;
}

int main(void) {
    float zeros[3][2] = {{0}}, values[3][2] = {{1, 2}, {4, 5}, {7, 8}}, out[3][2], lse[3];
    const float expected[3][2] = {{1, 2}, {2.5f, 3.5f}, {4, 5}};
    int right = 1;
    if (attend(zeros, zeros, values, out, lse) != ATTUNE_OK) {
        fprintf(stderr, "%s\n", attune_error_message());
        return 1;
    }
    for (int i = 0; i < 3; i++) {
        printf("token %d: %.4f %.4f, log-sum-exp %.4f\n", i, out[i][0], out[i][1], lse[i]);
        for (int d = 0; d < 2; d++)
            right = right && fabsf(out[i][d] - expected[i][d]) < 1e-5f;
        right = right && fabsf(lse[i] - logf((float)(i + 1))) < 1e-5f; /* i + 1 scores of 0 */
    }
    right = refuses_a_bad_mask() && right;
    return right ? 0 : 1;
}
