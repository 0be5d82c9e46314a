#include "sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "error.h"

namespace gpt {

namespace {

using Choice = std::pair<float, int32_t>; // logit, token

bool likelier(const Choice &a, const Choice &b) { return a.first > b.first || (a.first == b.first && a.second < b.second); }

std::mt19937_64 generator(uint64_t seed, uint32_t stream) {
    std::seed_seq words{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), stream};
    return std::mt19937_64(words);
}

/** exp((logit - largest) / T) of each, the likeliest first; its sum is returned. */
double weigh(const std::vector<Choice> &sorted, double temperature, std::vector<double> &weights) {
    double sum = 0;
    for (const Choice &candidate : sorted) {
        const double below = double(candidate.first) - double(sorted.front().first);
        weights.push_back(candidate.first == sorted.front().first ? 1 : std::exp(below / temperature)); // also of infinities
        sum += weights.back();
    }
    return sum;
}

} // namespace

Sampler::Sampler(const SamplingOptions &options, uint32_t stream) : options_(options), bits_(generator(options.seed, stream)) {
    require(options.temperature >= 0 && std::isfinite(options.temperature), "temperature is {}; it must be 0 or more", options.temperature);
    require(options.top_k >= 0, "top_k is {}; it must be 0 or more", options.top_k);
    require(options.top_p > 0 && options.top_p <= 1, "top_p is {}; it must be above 0 and at most 1", options.top_p);
}

int32_t Sampler::draw(const float *logits, int64_t count) {
    candidates_.clear();
    for (int64_t token = 0; token < count; ++token) {
        require(!std::isnan(logits[token]), "the logit of token {} is NaN", token);
        if (logits[token] > -std::numeric_limits<float>::infinity()) candidates_.emplace_back(logits[token], static_cast<int32_t>(token));
    }
    require(!candidates_.empty(), "there are {} logits above -inf; there must be 1 or more", candidates_.size());
    if (options_.temperature == 0) return std::min_element(candidates_.begin(), candidates_.end(), likelier)->second;

    const auto most = options_.top_k > 0 ? std::min<size_t>(options_.top_k, candidates_.size()) : candidates_.size();
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(most), candidates_.end(), likelier);
    candidates_.resize(most);
    std::vector<double> weights;
    const double sum = weigh(candidates_, options_.temperature, weights);
    double kept = 0;
    size_t last = 0;
    for (; last < weights.size() && (last == 0 || kept < options_.top_p * sum); ++last)
        kept += weights[last];
    double point = static_cast<double>(bits_() >> 11) * 0x1p-53 * kept; // uniform in [0, kept)
    size_t drawn = 0;
    while (drawn + 1 < last && point >= weights[drawn])
        point -= weights[drawn++];
    return candidates_[drawn].second;
}

} // namespace gpt
