// Every token of a sentence attends to every other: q = k = v = the embeddings, scale 1, no mask.
#include <attune/attune.hpp>

#include "example.h"

namespace {

const example::Rows expected_weights = {{0.2098347574, 0.2005814405, 0.1981492137, 0.1242282192, 0.1220487252, 0.1451576440},
                                        {0.1385475850, 0.2378912986, 0.2332740262, 0.1239916024, 0.1081818752, 0.1581136125},
                                        {0.1390075991, 0.2369214381, 0.2326019449, 0.1242044007, 0.1108002025, 0.1564644146},
                                        {0.1435268847, 0.2073944151, 0.2045520298, 0.1461922253, 0.1262952434, 0.1720392017},
                                        {0.1526108442, 0.1958386644, 0.1974906377, 0.1366866636, 0.1878589057, 0.1295142844},
                                        {0.1384711604, 0.2183637119, 0.2127594268, 0.1420475806, 0.0988063700, 0.1895517503}};
const example::Rows expected_outputs = {{0.4420593986, 0.5930985621, 0.5789890707}, {0.4418657479, 0.6514819780, 0.5683088877},
                                        {0.4431275120, 0.6495945790, 0.5670730577}, {0.4303897328, 0.6298280621, 0.5510270600},
                                        {0.4671017295, 0.5909927255, 0.5265965240}, {0.4177244739, 0.6503232057, 0.5645352171}};

} // namespace

int main() {
    const example::Labels words = {"Your", "journey", "starts", "with", "one", "step"};
    const float inputs[6][3] = {{0.43f, 0.15f, 0.89f}, {0.55f, 0.87f, 0.66f}, {0.57f, 0.85f, 0.64f},
                                {0.22f, 0.58f, 0.33f}, {0.77f, 0.25f, 0.10f}, {0.05f, 0.80f, 0.55f}};
    float outputs[6][3], weights[6][6];

    attune::AttentionDesc desc;
    desc.head_dim = 3;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message);

    const attune::TensorView tokens(inputs[0], {1, 1, 6, 3}), out(outputs[0], {1, 1, 6, 3}), weights_out(weights[0], {1, 1, 6, 6});
    attune::AttentionArgs args(tokens, tokens, tokens, out);
    args.has_scale = 1, args.scale = 1; // instead of 1 / sqrt(3)
    args.weights = &weights_out;
    if (const attune::Status status = plan->run(args); !status) return example::fail(status.message);

    example::show("weights", words, words, weights[0]);
    example::show("outputs", words, {"0", "1", "2"}, outputs[0]);
    const bool right = example::check("weights", weights[0], expected_weights) && example::check("outputs", outputs[0], expected_outputs);
    return right ? 0 : 1;
}
