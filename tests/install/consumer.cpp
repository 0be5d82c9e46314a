// A small C++ program that uses Attune: with all scores equal, the output is the mean of the values.
#include <attune/attune.hpp>
#include <attune/layers.hpp>
#include <cmath>
#include <cstdio>

int main() {
    attune::AttentionDesc desc;
    desc.head_dim = 2;
    desc.schedule = "reference";
    auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return std::fprintf(stderr, "%s\n", plan.status().message.c_str()), 1;

    float query[] = {0, 0}, key[] = {1, 2, 3, 4}, value[] = {1, 2, 5, 10}, out[2] = {};
    const attune::AttentionArgs args({query, {1, 1, 1, 2}}, {key, {1, 1, 2, 2}}, {value, {1, 1, 2, 2}}, {out, {1, 1, 1, 2}});
    const attune::Status status = plan->run(args);
    if (!status) return std::fprintf(stderr, "%s\n", status.message.c_str()), 1;

    std::printf("%s: %g %g\n", plan->kernel().name, out[0], out[1]);
    return std::abs(out[0] - 3) < 1e-5f && std::abs(out[1] - 6) < 1e-5f ? 0 : 1;
}
