// Softmax by temperature: as T falls the weights go to the largest logit, as it rises they become equal.
#include <attune/attune.hpp>

#include "example.h"

int main() {
    const float temperatures[] = {0.01f, 0.5f, 1, 2, 100};
    const float logits[] = {2.0f, 1.0f, 0.1f};
    float weights[5][3];

    for (int t = 0; t < 5; t++) {
        attune::SoftmaxOptions options;
        options.temperature = temperatures[t];
        const attune::TensorView x(logits, {3}), y(weights[t], {3});
        if (const attune::Status status = attune::softmax(x, y, options); !status) return example::fail(status.message);
    }

    example::show("weights", {"T = 0.01", "T = 0.5", "T = 1", "T = 2", "T = 100"}, {"2.0", "1.0", "0.1"}, weights[0]);
    const example::Rows expected = {{1, 0, 0}, // to 4e-44
                                    {0.8637771182, 0.1168995209, 0.0193233608},
                                    {0.6590011389, 0.2424329707, 0.0985658904},
                                    {0.5016877571, 0.3042890063, 0.1940232366},
                                    {0.3365610439, 0.3332122056, 0.3302267505}};
    return example::check("weights", weights[0], expected) ? 0 : 1;
}
