// Choosing the next token.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace gpt {

struct SamplingOptions {
    double temperature = 1; // T >= 0: logits are divided by it; 0: the likeliest token
    int32_t top_k = 0;      // only the k likeliest tokens; 0: all
    double top_p = 1;       // 0 < p <= 1: of those only the likeliest that together have probability p (Holtzman et al., arXiv 1904.09751)
    uint64_t seed = 0;
};

/** Draws tokens of one sequence. The same options, stream and logits give the same tokens on every machine. */
class Sampler {
public:
    /** `stream` tells sequences that share a seed apart. Throws an Error for options out of range. */
    explicit Sampler(const SamplingOptions &options, uint32_t stream = 0);

    /** A token of `count` logits, drawn from softmax(logits / T) as top_k and then top_p leave it; of equal logits the first is the
     * likelier. Throws an Error where no logit is finite or +inf, or one is NaN. */
    int32_t draw(const float *logits, int64_t count);

private:
    SamplingOptions options_;
    std::mt19937_64 bits_;
    std::vector<std::pair<float, int32_t>> candidates_; // kept for its memory
};

} // namespace gpt
