// Self-attention on three tokens: queries, keys and values are projections of the inputs; scale 1, no mask.
#include <attune/attune.hpp>

#include "example.h"

namespace {

constexpr int tokens = 3, width = 4, dim = 3;

/** x w. */
std::vector<float> project(const float (&x)[tokens][width], const float (&w)[width][dim]) {
    std::vector<float> product(tokens * dim);
    for (int i = 0; i < tokens; i++)
        for (int d = 0; d < dim; d++)
            for (int n = 0; n < width; n++)
                product[i * dim + d] += x[i][n] * w[n][d];
    return product;
}

} // namespace

int main() {
    const float x[tokens][width] = {{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}};
    const float w_query[width][dim] = {{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
    const float w_key[width][dim] = {{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}};
    const float w_value[width][dim] = {{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}};
    const std::vector<float> q = project(x, w_query), k = project(x, w_key), v = project(x, w_value);
    std::vector<float> out(tokens * dim), weights(tokens * tokens);

    attune::AttentionDesc desc;
    desc.head_dim = dim;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message);

    const auto view = [](const std::vector<float> &t) { return attune::TensorView(t.data(), {1, 1, tokens, dim}); };
    const attune::TensorView weights_view(weights.data(), {1, 1, tokens, tokens});
    attune::AttentionArgs args(view(q), view(k), view(v), view(out));
    args.has_scale = 1, args.scale = 1; // instead of 1 / sqrt(dim)
    args.weights = &weights_view;
    if (const attune::Status status = plan->run(args); !status) return example::fail(status.message);

    example::show("weights", {"query 0", "query 1", "query 2"}, {"key 0", "key 1", "key 2"}, weights.data());
    example::show("outputs", {"token 0", "token 1", "token 2"}, {"0", "1", "2"}, out.data());
    const bool right = example::check("weights", weights.data(),
                                      {{0.0633789383, 0.4683105308, 0.4683105308},
                                       {6.03366e-6, 0.9820078649, 0.0179861014},
                                       {0.000295387, 0.8805369018, 0.1191677110}}) &&
                       example::check("outputs", out.data(),
                                      {{1.9366210617, 6.6831053083, 1.5950684075},
                                       {1.9999939663, 7.9639915951, 0.0539764053},
                                       {1.9997046128, 7.7598922547, 0.3583892947}});
    return right ? 0 : 1;
}
