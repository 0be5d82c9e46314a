// Equal scores under a causal mask: each output is the plain mean of the values so far.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const float zeros[3][2] = {}, values[3][2] = {{1, 2}, {4, 5}, {7, 8}};
    float outputs[3][2], weights[3][3];

    attune::AttentionDesc desc;
    desc.head_dim = 2;
    desc.mask = "causal";
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message);

    const attune::TensorView qk(zeros[0], {1, 1, 3, 2}), v(values[0], {1, 1, 3, 2});
    const attune::TensorView out(outputs[0], {1, 1, 3, 2}), weights_out(weights[0], {1, 1, 3, 3});
    attune::AttentionArgs args(qk, qk, v, out);
    args.weights = &weights_out;
    if (const attune::Status status = plan->run(args); !status) return example::fail(status.message);

    example::show("weights", {"query 0", "query 1", "query 2"}, {"key 0", "key 1", "key 2"}, weights[0]);
    example::show("outputs", {"token 0", "token 1", "token 2"}, {"0", "1"}, outputs[0]);
    const double third = 1.0 / 3;
    const bool right = example::check("weights", weights[0], {{1, 0, 0}, {0.5, 0.5, 0}, {third, third, third}}) &&
                       example::check("outputs", outputs[0], {{1, 2}, {2.5, 3.5}, {4, 5}});
    return right ? 0 : 1;
}
