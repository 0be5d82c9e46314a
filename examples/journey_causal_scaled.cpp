// Causal self-attention over a sentence: each word attends to itself and those before it. The README shows the marked part.
// README begins: causal
#include <attune/attune.hpp>

/** Causal attention of six tokens of three channels with themselves: weights [query][key] and outputs [token][channel]. */
attune::Status attend(const float (&x)[6][3], float (&weights)[6][6], float (&outputs)[6][3]) {
    attune::AttentionDesc desc;
    desc.head_dim = 3;
    desc.mask = "causal"; // text, read at run time: nothing is compiled
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return plan.status();

    const attune::TensorView tokens(x[0], {1, 1, 6, 3}); // [batch, heads, tokens, dim]
    const attune::TensorView out(outputs[0], {1, 1, 6, 3}), weights_out(weights[0], {1, 1, 6, 6});
    attune::AttentionArgs args(tokens, tokens, tokens, out); // q, k, v and where the result goes; the scale is 1 / sqrt(3)
    args.weights = &weights_out;                             // optional, as are log-sum-exp, bias, key lengths and others
    return plan->run(args);
}
// README ends

#include "example.h"

namespace {

const example::Rows expected_weights = {{1, 0, 0, 0, 0, 0},
                                        {0.4225984399, 0.5774015601, 0, 0, 0, 0},
                                        {0.2697891051, 0.3670447315, 0.3631661634, 0, 0, 0},
                                        {0.2234909974, 0.2764123485, 0.2742188015, 0.2258778526, 0, 0},
                                        {0.1858326110, 0.2146132314, 0.2156565782, 0.1743774718, 0.2095201075, 0},
                                        {0.1510853885, 0.1965325785, 0.1936044392, 0.1533261874, 0.1243362325, 0.1811151738}};
const example::Rows expected_outputs = {{0.43, 0.15, 0.89},
                                        {0.4992881872, 0.5657291232, 0.7571976412},
                                        {0.5248886307, 0.6684885211, 0.7147881709},
                                        {0.4541257650, 0.6380975286, 0.6313788620},
                                        {0.5205630762, 0.5514154550, 0.5235525430},
                                        {0.4219405845, 0.6231153108, 0.5507289494}};

} // namespace

int main() {
    const example::Labels words = {"Your", "journey", "starts", "with", "one", "step"};
    const float inputs[6][3] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};
    float weights[6][6], outputs[6][3];
    if (const attune::Status status = attend(inputs, weights, outputs); !status) return example::fail(status.message);
    example::show("weights", words, words, weights[0]);
    example::show("outputs", words, {"0", "1", "2"}, outputs[0]);
    const bool right = example::check("weights", weights[0], expected_weights) && example::check("outputs", outputs[0], expected_outputs);
    return right ? 0 : 1;
}
