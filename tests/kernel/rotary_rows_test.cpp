// Rotary embedding by the caller's own cosines and sines: y1 = cos x1 - sin x2, y2 = sin x1 + cos x2, whatever the numbers are.
#include "attune/attune.hpp"
#include "compare.h"
#include "kernels.h"
#include "random.h"

namespace attune::test {
namespace {

/** Rows for positions 0 to 39 of `width` rotated channels. */
struct Rows {
    Tensor<float> cosines, sines;
    explicit Rows(int64_t width) : cosines({40, width / 2}, {{}, 3}), sines({40, width / 2}) {}
};

class RotaryRows : public SeededTestWithParam<const attune_kernel *> {
protected:
    bool interleaved() const { return std::string_view(GetParam()->operation) == "rotary_interleaved"; }

    Rows normal_rows(int64_t width) {
        const Rows rows(width);
        random.fill_normal(rows.cosines), random.fill_normal(rows.sines);
        return rows;
    }

    std::vector<double> expected(const Tensor<float> &x, const Rows &rows, const Tensor<int64_t> &positions) const {
        const int64_t pairs = rows.cosines.extent[1];
        std::vector<double> values;
        for (int64_t b = 0; b < x.extent[0]; b++)
            for (int64_t h = 0; h < x.extent[1]; h++)
                for (int64_t n = 0; n < x.extent[2]; n++)
                    for (int64_t d = 0; d < x.extent[3]; d++) {
                        const int64_t pair = interleaved() ? d / 2 : d % pairs;
                        const bool second = interleaved() ? d % 2 == 1 : d >= pairs;
                        const int64_t other = interleaved() ? d ^ 1 : (d + pairs) % (2 * pairs);
                        const int64_t row = positions(positions.extent[0] == 1 ? 0 : b, n);
                        const bool turns = d < 2 * pairs;
                        const double c = turns ? double(rows.cosines(row, pair)) : 1, s = turns ? double(rows.sines(row, pair)) : 0;
                        const double partner = turns ? double(x(b, h, n, other)) : 0;
                        values.push_back(c * double(x(b, h, n, d)) + (second ? s : -s) * partner);
                    }
        return values;
    }

    void expect_right(const Tensor<float> &x, int64_t width, const Tensor<int64_t> &positions) {
        const Rows rows = normal_rows(width);
        const Tensor<float> y(x.extent, {{}, 3});
        const TensorView cosines = rows.cosines.view(), sines = rows.sines.view(), places = positions.view();
        RotaryOptions options;
        options.layout = interleaved() ? ATTUNE_ROTARY_INTERLEAVED : ATTUNE_ROTARY_HALF;
        options.rotary_dim = width, options.positions = &places, options.schedule = GetParam()->schedule;
        options.cosines = &cosines, options.sines = &sines;
        const Status status = rotary(x.view(), y.view(), options);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        EXPECT_TRUE(agrees(to_double(y), expected(x, rows, positions), {1e-5, 1, 10}));
    }
};

TEST_P(RotaryRows, TurnWhatStandsAtTheirPosition) {
    for (int64_t dim : {2, 6, 16, 34, 64, 128}) {
        const Tensor<float> x({2, 3, 5, dim}, Layout::tokens_first(2));
        random.fill_normal(x);
        Tensor<int64_t> own({2, 5}), shared({1, 5});
        int64_t next = 3;
        own.each([&](int64_t &position) { position = next = (next * 7 + 5) % 40; });
        shared.each([&](int64_t &position) { position = next = (next * 7 + 5) % 40; });
        expect_right(x, dim, own);
        expect_right(x, dim, shared);
    }
}

TEST_P(RotaryRows, LeaveOtherChannelsAlone) {
    const Tensor<float> x({1, 2, 4, 10});
    random.fill_normal(x);
    Tensor<int64_t> positions({1, 4});
    positions(0, 0) = 39, positions(0, 1) = 0, positions(0, 2) = 39, positions(0, 3) = 17;
    expect_right(x, 6, positions);
}

INSTANTIATE_TEST_SUITE_P(PrebuiltHalf, RotaryRows, ::testing::ValuesIn(kernels_of("rotary_half")), kernel_name);
INSTANTIATE_TEST_SUITE_P(PrebuiltInterleaved, RotaryRows, ::testing::ValuesIn(kernels_of("rotary_interleaved")), kernel_name);

} // namespace
} // namespace attune::test
