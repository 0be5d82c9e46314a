#include "runtime/src/layer/mha.h"

#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** Weights [out, in] as the caller names them. */
struct GivenWeight {
    const char *name;
    const char *weight_name;
    const attune_tensor *weight;
    const attune_tensor *bias;

    bool given() const { return weight->rank != 0; }
};

Status check_matrix(const GivenWeight &p) {
    ATTUNE_REQUIRE(p.given() || !p.bias, "{}_bias is given; it must go with {}_weight", p.name, p.name);
    if (!p.given()) return {};
    ATTUNE_TRY(check_type(p.weight->type, p.weight_name, layer_types));
    return check_tensor(*p.weight, {p.weight_name, p.weight->type, 2, 2, Role::input, false});
}

Status make_linear(attune_type dtype, const GivenWeight &p, LinearPointer &made) {
    if (!p.given()) return {};
    attune_linear_desc desc;
    attune_linear_desc_init(&desc);
    desc.dtype = dtype, desc.weight = *p.weight, desc.bias = p.bias;
    attune_linear *linear = nullptr;
    const Status status = status_of(attune_linear_create(&desc, &linear));
    made.reset(linear);
    return status.ok() ? status : Status{status.code, formatted("{} projection: {}", p.name, status.message)};
}

/** The width of one head of `count`: the projection's outputs shared evenly, or `given` where there is no projection. */
Status head_width(const GivenWeight &p, int64_t count, const char *count_name, int64_t given, const char *given_name, int64_t &width) {
    const int64_t outputs = p.weight->extent[0];
    if (p.given()) {
        ATTUNE_REQUIRE(outputs >= 1 && outputs % count == 0, "{}_weight has {} outputs; {} is {}, and must divide them", p.name, outputs,
                       count_name, count);
        width = outputs / count;
    } else {
        ATTUNE_REQUIRE(given >= 1 && given <= INT32_MAX / count, "{} is {}; without {}_weight it must be 1 to {}", given_name, given,
                       p.name, INT32_MAX / count);
        width = given;
    }
    ATTUNE_REQUIRE(given == 0 || given == width, "{} is {}; {}_weight makes heads of width {}", given_name, given, p.name, width);
    return {};
}

Status settle_widths(const attune_mha_desc &desc, const GivenWeight *qkv, attune_mha &mha) {
    const char *kv_name = desc.kv_heads > 0 ? "kv_heads" : "heads";
    const int64_t value_dim = desc.value_dim != 0 || qkv[2].given() ? desc.value_dim : desc.head_dim;
    int64_t key_dim = 0;
    ATTUNE_TRY(head_width(qkv[0], mha.heads, "heads", desc.head_dim, "head_dim", mha.head_dim));
    ATTUNE_TRY(head_width(qkv[1], mha.kv_heads, kv_name, desc.head_dim, "head_dim", key_dim));
    ATTUNE_TRY(head_width(qkv[2], mha.kv_heads, kv_name, value_dim, "value_dim", mha.value_dim));
    ATTUNE_REQUIRE(key_dim == mha.head_dim, "key_weight makes heads of width {}; they must be {} wide, as query_weight's", key_dim,
                   mha.head_dim);
    return {};
}

Status settle_heads(const attune_mha_desc &desc, attune_mha &mha) {
    ATTUNE_REQUIRE(desc.heads >= 1 && desc.heads <= INT32_MAX, "heads is {}; it must be 1 to {}", desc.heads, INT32_MAX);
    ATTUNE_REQUIRE(desc.kv_heads >= 0 && desc.kv_heads <= desc.heads, "kv_heads is {}; it must be 1 to {}, the heads, or 0: as many",
                   desc.kv_heads, desc.heads);
    mha.heads = desc.heads, mha.kv_heads = desc.kv_heads > 0 ? desc.kv_heads : desc.heads;
    ATTUNE_REQUIRE(mha.heads % mha.kv_heads == 0, "heads is {}; it must be a multiple of the {} kv_heads", mha.heads, mha.kv_heads);
    return {};
}

Status settle_output(const attune_mha_desc &desc, attune_mha &mha) {
    mha.out = mha.heads * mha.value_dim;
    if (!desc.output_weight) {
        ATTUNE_REQUIRE(!desc.output_bias, "output_bias is given; it must go with output_weight");
        return {};
    }
    const GivenWeight output = {"output", "output_weight", desc.output_weight, desc.output_bias};
    ATTUNE_REQUIRE(output.given(), "output_weight.rank is 0; it must be 2");
    ATTUNE_TRY(check_matrix(output));
    ATTUNE_REQUIRE(desc.output_weight->extent[1] == mha.out, "output_weight has {} inputs; it must have {}, of {} heads of width {}",
                   desc.output_weight->extent[1], mha.out, mha.heads, mha.value_dim);
    ATTUNE_TRY(make_linear(desc.dtype, output, mha.output));
    mha.out = desc.output_weight->extent[0];
    return {};
}

Status make_attention(const attune_mha_desc &desc, attune_mha &mha) {
    attune_attention_desc attention = ATTUNE_ATTENTION_DESC_INIT;
    attention.dtype = desc.dtype, attention.head_dim = mha.head_dim, attention.value_dim = mha.value_dim;
    attention.mask = desc.mask, attention.score = desc.score, attention.position = desc.position;
    attention.schedule = desc.schedule, attention.cache_dtype = desc.cache_dtype;
    attune_attention_plan *plan = nullptr;
    ATTUNE_TRY(status_of(attune_attention_plan_create(&attention, &plan)));
    mha.attention.reset(plan);
    return {};
}

/** One layer for all three where it may be: x is then read once, and attention reads what it gives as views. */
Status make_projections(attune_type dtype, const GivenWeight *qkv, attune_mha &mha) {
    Projection *projections[] = {&mha.query, &mha.key, &mha.value};
    bool fused = true;
    int64_t outputs = 0;
    for (int i = 0; i < 3; ++i) {
        fused = fused && qkv[i].given() && qkv[i].weight->extent[1] == qkv[0].weight->extent[1];
        if (qkv[i].given()) outputs += qkv[i].weight->extent[0];
    }
    if (fused && outputs <= INT32_MAX / 2) { // with what lies between them all then have numbers of 32 bits
        mha.layers[0].reset(new attune_linear);
        ATTUNE_TRY(make_stacked(dtype,
                                {{qkv[0].name, qkv[0].weight, qkv[0].bias, &mha.query.columns},
                                 {qkv[1].name, qkv[1].weight, qkv[1].bias, &mha.key.columns},
                                 {qkv[2].name, qkv[2].weight, qkv[2].bias, &mha.value.columns}},
                                *mha.layers[0]));
        for (Projection *projection : projections)
            projection->layer = mha.layers[0].get();
        return {};
    }
    for (size_t i = 0; i < 3; ++i) {
        ATTUNE_TRY(make_linear(dtype, qkv[i], mha.layers[i]));
        if (mha.layers[i]) *projections[i] = {mha.layers[i].get(), {0, mha.layers[i]->out}};
    }
    return {};
}

Status make_mha(const attune_mha_desc *desc, attune_mha &mha) {
    ATTUNE_TRY(check_struct(desc, "desc", "attune_mha_desc_init"));
    ATTUNE_TRY(check_type(desc->dtype, "desc", layer_types, "dtype"));
    ATTUNE_REQUIRE(desc->context_length >= 0, "context_length is {}; it must be 1 or more, or 0: no limit", desc->context_length);
    const GivenWeight qkv[] = {{"query", "query_weight", &desc->query_weight, desc->query_bias},
                               {"key", "key_weight", &desc->key_weight, desc->key_bias},
                               {"value", "value_weight", &desc->value_weight, desc->value_bias}};
    for (const GivenWeight &p : qkv)
        ATTUNE_TRY(check_matrix(p));
    mha.dtype = desc->dtype, mha.context_length = desc->context_length;
    ATTUNE_TRY(settle_heads(*desc, mha));
    ATTUNE_TRY(settle_widths(*desc, qkv, mha));
    ATTUNE_TRY(make_attention(*desc, mha));
    ATTUNE_TRY(make_projections(desc->dtype, qkv, mha));
    return settle_output(*desc, mha);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_mha_desc_init(attune_mha_desc *desc) {
    if (reset(desc)) desc->dtype = ATTUNE_F32, desc->heads = 1;
}

extern "C" attune_status attune_mha_create(const attune_mha_desc *desc, attune_mha **mha) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(mha != nullptr, "mha is NULL; it must point to where the layer goes");
        auto made = std::make_unique<attune_mha>();
        ATTUNE_TRY(make_mha(desc, *made));
        *mha = made.release();
        return {};
    });
}

extern "C" void attune_mha_destroy(attune_mha *mha) { delete mha; }

extern "C" int64_t attune_mha_out(const attune_mha *mha) { return mha ? mha->out : 0; }

extern "C" size_t attune_mha_bytes(const attune_mha *mha) {
    if (!mha) return 0;
    size_t bytes = attune_linear_bytes(mha->output.get());
    for (const LinearPointer &layer : mha->layers)
        bytes += attune_linear_bytes(layer.get());
    return bytes;
}
