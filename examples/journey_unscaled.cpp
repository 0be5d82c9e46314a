// Every token of a sentence attends to every other: q = k = v = the embeddings, scale 1, no mask.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const example::Labels words = {"Your", "journey", "starts", "with", "one", "step"};
    const float inputs[6][3] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};
    float scores[6][6], weights[6][6], contexts[6][3];

    attune::AttentionDesc desc;
    desc.head_dim = 3;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message);

    const attune::TensorView tokens(inputs[0], {1, 1, 6, 3}), out(contexts[0], {1, 1, 6, 3});
    const attune::TensorView scores_view(scores[0], {1, 1, 6, 6}), weights_view(weights[0], {1, 1, 6, 6});
    attune::AttentionArgs args(tokens, tokens, tokens, out);
    args.has_scale = 1, args.scale = 1; // instead of 1 / sqrt(3)
    args.scores = &scores_view, args.score_stage = ATTUNE_SCORES_SCALED, args.weights = &weights_view;
    if (const attune::Status status = plan->run(args); !status) return example::fail(status.message);

    example::show("scores", words, words, scores[0]);
    example::show("weights", words, words, weights[0]);
    example::show("contexts", words, {"0", "1", "2"}, contexts[0]);
    const bool right = example::check("scores", scores[0], {{0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310}}) &&
                       example::check("weights", weights[0], {{0.2098348, 0.2005814, 0.1981492, 0.1242282, 0.1220487, 0.1451576}}) &&
                       example::check("contexts", contexts[0], {{0.442059, 0.593099, 0.578989}, {0.441866, 0.651482, 0.568309}});
    return right ? 0 : 1;
}
