// Rotary frequencies under each scaling: radians a position, worked out in float64 by the formulas of the transformers library
// (modeling_rope_utils.py) and of "NTK-aware scaled RoPE".
#pragma once

#include <vector>

#include "position_oracle.h"

namespace attune::test::golden {

struct Frequencies {
    const char *name;
    RotaryModel model;
    std::vector<double> radians;
    double magnitude;
};

inline RotaryModel scaled(int64_t width, double base, const char *scaling, double factor, double original) {
    RotaryModel model;
    model.width = width, model.base = base, model.scaling = scaling, model.factor = factor, model.original = original;
    return model;
}

inline std::vector<Frequencies> frequencies() {
    return {
        {"Plain", scaled(8, 10000, "", 1, 0), {1, 0.1, 0.01, 0.001}, 1},
        {"Linear", scaled(8, 10000, "linear", 4, 0), {0.25, 0.025, 0.0025, 0.00025}, 1},
        {"Ntk", scaled(8, 10000, "ntk", 4, 0), {1.0, 0.06299605249474366, 0.003968502629920499, 0.00025}, 1},
        {"Yarn",
         scaled(32, 10000, "yarn", 16, 4096),
         {1.0, 0.5623413251903491, 0.31622776601683794, 0.17782794100389226, 0.1, 0.056234132519034905, 0.02738758330681543,
          0.013019545680642114, 0.005982142857142857, 0.0026108704383837637, 0.0010446810127341965, 0.0003493048841147885, 6.25e-05,
          3.514633282439682e-05, 1.976423537605237e-05, 1.1114246312743267e-05},
         1.2772588722239782},
        // So short a context that both of yarn's bounds are pair 0.
        {"YarnWithEqualBounds", scaled(8, 10000, "yarn", 4, 2), {1.0, 0.025, 0.0025, 0.00025}, 1.1386294361119891},
        {"Llama3",
         scaled(16, 500000, "llama3", 8, 8192),
         {1.0, 0.19392274474868576, 0.03760603093086393, 0.007292664737217109, 0.0005248461609929547, 3.428102195952591e-05,
          6.647869871181235e-06, 1.2891731721515574e-06},
         1},
    };
}

} // namespace attune::test::golden
