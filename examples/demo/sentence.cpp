// Every weight and output of causal attention over one sentence.
#include <attune/attune.hpp>

#include <cstdio>

#include <fmt/format.h>

#include "../plain_attention.h"
#include "demo.h"

namespace demo {
namespace {

constexpr int tokens = 6, dim = 3;
constexpr const char *words[tokens] = {"Your", "journey", "starts", "with", "one", "step"};
constexpr float embeddings[tokens][dim] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                           {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};

/** Queries, keys and values are the embeddings themselves. */
example::Problem problem() {
    example::Problem p(1, tokens, dim);
    for (std::vector<float> *tensor : {&p.q, &p.k, &p.v})
        tensor->assign(embeddings[0], embeddings[0] + tokens * dim);
    return p;
}

/** A row a query: its weight on each key, and what comes out. */
void print_table(const Terminal &terminal, const float *weights, const float *outputs) {
    fmt::print("  {:8}", "");
    for (const char *word : words)
        fmt::print("{:>8}", word);
    fmt::print("    output\n");
    for (int i = 0; i < tokens; i++) {
        fmt::print("  {:8}", words[i]);
        for (int j = 0; j < tokens; j++) {
            const float weight = weights[i * tokens + j];
            fmt::print("{}", weight == 0 ? fmt::format("{:>8}", ".") : terminal.heat(fmt::format("{:8.4f}", weight), weight));
        }
        fmt::print("   ");
        for (int d = 0; d < dim; d++)
            fmt::print(" {:5.3f}", outputs[i * dim + d]);
        fmt::print("\n");
    }
}

bool failed(const attune::Status &status) {
    if (!status) fmt::print(stderr, "demo: {}\n", status.message);
    return !status;
}

} // namespace

bool show_sentence(const Terminal &terminal) {
    example::Problem p = problem();
    std::vector<float> weights(tokens * tokens);
    attune::AttentionDesc desc;
    desc.head_dim = dim;
    desc.mask = "causal";
    const auto plan = attune::AttentionPlan::create(desc);
    if (failed(plan.status())) return false;

    const auto view = [](const std::vector<float> &t) { return attune::TensorView(t.data(), {1, 1, tokens, dim}); };
    const attune::TensorView weights_view(weights.data(), {1, 1, tokens, tokens});
    attune::AttentionArgs args(view(p.q), view(p.k), view(p.v), view(p.out));
    args.weights = &weights_view;
    if (failed(plan->run(args))) return false;

    const double error = example::largest_error(p, [](int64_t i, int64_t j) { return j <= i; });
    fmt::print("{}\n", terminal.bold("\"Your journey starts with one step\""));
    fmt::print("  {} tokens of {} channels, causal, scale 1/sqrt({}): the weight of each token (across) for each (down)\n\n", tokens, dim,
               dim);
    print_table(terminal, weights.data(), p.out.data());
    fmt::print("\n  kernel {}, schedule {}; largest error against float64 {:.1e} of max |v|\n\n", plan->kernel().name,
               plan->kernel().schedule, error);
    return error < 1e-6;
}

} // namespace demo
