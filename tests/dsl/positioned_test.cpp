// dsl::positioned: what attention packs of a row with its position, and that it costs dense loads alone.
#include <set>

#include "compare.h"
#include "dsl/position.h"
#include "jit_attention.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test::positioned_test {
namespace {

using Kind = dsl::CompiledPosition::Kind;

/** Tokens of D channels, (dim, token, head, batch), and a table. */
class Positioned : public SeededTest {
protected:
    Positioned(int channels = 64) : channels(channels) {}

    /** (packed channel, token), of head 0 and item 0. */
    Halide::Func packed(const dsl::CompiledPosition &position) const {
        Halide::Func f("packed");
        Halide::Var dim("dim"), token("token");
        dsl::PositionedInput row;
        row.channel = [this, token](const Halide::Expr &d) -> Halide::Expr { return x(d, token, 0, 0); };
        row.table = table, row.token = token, row.batch = 0, row.channels = channels;
        f(dim, token) = dsl::positioned(position, row, dim);
        return f;
    }

    const int channels;
    Halide::ImageParam x{Halide::Float(32), 4, "x"}, table{Halide::Float(32), 4, "table"};
};

/** The cosines and sines of `model` at token + 3. */
Halide::Buffer<float> table_of(const RotaryModel &model, int tokens) {
    const int64_t axis_pairs = model.width / 2 / model.axes;
    const std::vector<long double> frequencies = inverse_frequencies(model);
    Halide::Buffer<float> table(static_cast<int>(model.width / 2), 2, tokens, 1);
    table.for_each_element([&](int k, int plane, int n, int) {
        const long double angle = (n + 3 + 5 * (k / axis_pairs)) * frequencies[k];
        table(k, plane, n, 0) = static_cast<float>(plane == 0 ? std::cos(angle) : std::sin(angle));
    });
    return table;
}

TEST_F(Positioned, TurnsChannelsInPackedOrder) {
    for (RotaryLayout layout : {RotaryLayout::half, RotaryLayout::interleaved})
        for (auto [width, axes] : {std::pair<int64_t, int64_t>{64, 1}, {64, 2}, {64, 4}, {24, 1}, {24, 3}}) {
            RotaryModel model;
            model.layout = layout, model.width = width, model.axes = axes;
            const Tensor<float> in({1, 1, 5, 64});
            random.fill_normal(in);
            x.set(buffer_of(in)), table.set(table_of(model, 5));
            const auto position = [](int64_t stream, int64_t, int64_t token) { return token + 3 + 5 * stream; };
            const std::vector<double> exact = rotary_in_long_double(in, model, position);

            const auto declared = layout == RotaryLayout::half ? dsl::RotaryLayout::half : dsl::RotaryLayout::interleaved;
            const dsl::CompiledPosition compiled{Kind::rotary, declared, width == 64 ? 0 : static_cast<int>(width), static_cast<int>(axes)};
            const Halide::Buffer<float> got = packed(compiled).realize({64, 5});
            for (int n = 0; n < 5; n++)
                for (int d = 0; d < 64; d++) {
                    const bool reordered = layout == RotaryLayout::interleaved && d < width;
                    const int64_t channel = reordered ? d % (width / 2) * 2 + d / (width / 2) : d;
                    ASSERT_NEAR(got(d, n), exact[n * 64 + channel], 3e-6) << width << " channels, " << axes << " axes, channel " << d;
                }
        }
}

TEST_F(Positioned, AddsWhatIsAdded) {
    const Tensor<float> in({1, 1, 5, 64}), rows({1, 5, 1, 64});
    random.fill_normal(in), random.fill_normal(rows);
    x.set(buffer_of(in)), table.set(buffer_of(rows));
    const Halide::Buffer<float> got = packed({Kind::added}).realize({64, 5});
    for (int n = 0; n < 5; n++)
        for (int d = 0; d < 64; d++)
            ASSERT_EQ(got(d, n), in(0, 0, n, d) + rows(0, n, 0, d));
}

/** Collects the strides of vector loads; 0 for a gather. */
class LoadStrides : public Halide::Internal::IRMutator {
public:
    std::set<int64_t> strides;

private:
    using IRMutator::visit;
    Halide::Expr visit(const Halide::Internal::Load *op) override {
        if (op->type.is_vector()) {
            const auto *ramp = op->index.as<Halide::Internal::Ramp>();
            const auto stride = ramp ? Halide::Internal::as_const_int(ramp->stride) : std::nullopt;
            strides.insert(stride ? *stride : 0);
        }
        return IRMutator::visit(op);
    }
};

std::set<int64_t> strides_in_vectors_of(Halide::Func f, int lanes) {
    LoadStrides loads;
    f.vectorize(f.args()[0], lanes);
    f.output_buffer().dim(0).set_bounds(0, 64);
    f.add_custom_lowering_pass(&loads, nullptr);
    f.compile_to_module(f.infer_arguments(), "packed", Halide::Target("x86-64-linux-no_runtime"));
    return loads.strides;
}

TEST_F(Positioned, LoadsDenseVectors) {
    x.dim(0).set_stride(1), table.dim(0).set_stride(1);
    for (const auto &[position, lanes] : {std::pair<dsl::CompiledPosition, int>{{Kind::rotary, dsl::RotaryLayout::half}, 16},
                                          {{Kind::rotary, dsl::RotaryLayout::half}, 8},
                                          {{Kind::rotary, dsl::RotaryLayout::half, 32}, 16},
                                          {{Kind::rotary, dsl::RotaryLayout::half, 0, 2}, 16},
                                          {{Kind::rotary, dsl::RotaryLayout::interleaved}, 16}, // every second channel: two dense loads
                                          {{Kind::added}, 16}})
        EXPECT_EQ(strides_in_vectors_of(packed(position), lanes), std::set<int64_t>{1}) << position.width << ", " << position.axes;
    EXPECT_EQ(strides_in_vectors_of(packed({Kind::rotary, dsl::RotaryLayout::half, 0, 4}), 16).count(0), 1u) << "half a vector a half";
}

} // namespace
} // namespace attune::test::positioned_test
