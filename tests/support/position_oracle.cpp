#include "position_oracle.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace attune::test {
namespace {

constexpr long double pi = 3.14159265358979323846264338327950288L;

/** Wavelength by wavelength, as the three cases of Llama 3.1's code. */
long double llama3(const RotaryModel &m, long double frequency) {
    const long double wavelength = 2 * pi / frequency;
    if (wavelength < m.original / m.high) return frequency;
    if (wavelength > m.original / m.low) return frequency / m.factor;
    const long double smooth = (m.original / wavelength - m.low) / (m.high - m.low);
    return (1 - smooth) * frequency / m.factor + smooth * frequency;
}

/** The pair, counted from 0 and not yet whole, that makes `turns` turns in the context trained on (yarn, section 3.2). */
long double yarn_pair(const RotaryModel &m, long double turns, int64_t width) {
    return width / (2 * std::log(static_cast<long double>(m.base))) * std::log(m.original / (2 * pi * turns));
}

long double yarn(const RotaryModel &m, long double frequency, int64_t pair, int64_t width) {
    const long double first = std::max(std::floor(yarn_pair(m, m.beta_fast, width)), 0.0L);
    long double last = std::min(std::ceil(yarn_pair(m, m.beta_slow, width)), width - 1.0L);
    if (first == last) last += 0.001L;
    const long double ramp = std::clamp((pair - first) / (last - first), 0.0L, 1.0L);
    return (1 - ramp) * frequency + ramp * frequency / m.factor;
}

/** Of pair `pair` of one embedding of `width` channels. */
long double frequency_of(const RotaryModel &m, int64_t pair, int64_t width) {
    long double base = m.base;
    if (m.scaling == "ntk") base *= std::pow(static_cast<long double>(m.factor), width / (width - 2.0L));
    const long double frequency = pair == 0 ? 1 : std::pow(base, -2.0L * pair / width);
    if (m.scaling == "linear") return frequency / m.factor;
    if (m.scaling == "yarn") return yarn(m, frequency, pair, width);
    return m.scaling == "llama3" ? llama3(m, frequency) : frequency;
}

/** The channels of a pair, and the stream its position is in. */
struct Pair {
    int64_t first, second, stream;
};

Pair pair_at(const RotaryModel &m, int64_t pair) {
    const int64_t axis_width = m.width / m.axes, axis = pair / (axis_width / 2), local = pair % (axis_width / 2);
    Pair p{2 * pair, 2 * pair + 1, axis};
    if (m.layout == RotaryLayout::half) p.first = axis * axis_width + local, p.second = p.first + axis_width / 2;
    for (int64_t end = 0, section = 0; section < static_cast<int64_t>(m.sections.size()); section++)
        if (end += m.sections[section]; pair >= end) p.stream = section + 1;
    return p;
}

void turn(double *row, const Pair &pair, long double angle, long double magnitude) {
    const long double a = row[pair.first], c = row[pair.second], cosine = magnitude * std::cos(angle), sine = magnitude * std::sin(angle);
    row[pair.first] = static_cast<double>(a * cosine - c * sine);
    row[pair.second] = static_cast<double>(c * cosine + a * sine);
}

} // namespace

std::string RotaryModel::scaling_text() const {
    std::ostringstream text;
    text.precision(17);
    text << scaling << "(" << factor;
    if (scaling == "yarn") text << ", " << original << ", " << beta_fast << ", " << beta_slow;
    if (scaling == "llama3") text << ", " << low << ", " << high << ", " << original;
    text << ")";
    return scaling.empty() ? "" : text.str();
}

std::vector<long double> inverse_frequencies(const RotaryModel &model) {
    const int64_t axis_width = model.width / model.axes;
    std::vector<long double> frequencies;
    for (int64_t pair = 0; pair < model.width / 2; pair++)
        frequencies.push_back(frequency_of(model, pair % (axis_width / 2), axis_width));
    return frequencies;
}

long double magnitude(const RotaryModel &model) {
    return model.scaling == "yarn" ? 0.1L * std::log(static_cast<long double>(model.factor)) + 1 : 1;
}

std::vector<double> rotary_in_long_double(const Tensor<float> &x, const RotaryModel &model, const PositionOf &position) {
    const size_t rank = x.extent.size();
    const int64_t tokens = x.extent[rank - 2], dim = x.extent.back(), heads = rank == 4 ? x.extent[1] : 0;
    const std::vector<long double> frequencies = inverse_frequencies(model);
    const std::vector<float> all = x.values();
    std::vector<double> y(all.begin(), all.end());
    for (int64_t row = 0; row * dim < static_cast<int64_t>(y.size()); row++)
        for (int64_t k = 0; k < model.width / 2; k++) {
            const Pair pair = pair_at(model, k);
            const int64_t batch = heads > 0 ? row / tokens / heads : 0;
            turn(&y[row * dim], pair, position(pair.stream, batch, row % tokens) * frequencies[k], magnitude(model));
        }
    return y;
}

std::vector<double> rotary_in_long_double(const Tensor<float> &x, double base, RotaryLayout layout, int64_t rotary_dim, int64_t offset) {
    RotaryModel model;
    model.layout = layout, model.width = rotary_dim, model.base = base;
    return rotary_in_long_double(x, model, [&](int64_t, int64_t, int64_t token) { return offset + token; });
}

double sinusoid(int64_t position, int64_t channel, int64_t dim, double base) {
    const long double angle = position * std::pow(static_cast<long double>(base), -2.0L * (channel / 2) / dim);
    return static_cast<double>(channel % 2 == 0 ? std::sin(angle) : std::cos(angle));
}

std::vector<double> sinusoidal_in_long_double(int64_t tokens, int64_t dim, double base, int64_t offset) {
    std::vector<double> y;
    for (int64_t n = 0; n < tokens; n++)
        for (int64_t d = 0; d < dim; d++)
            y.push_back(sinusoid(offset + n, d, dim, base));
    return y;
}

} // namespace attune::test
