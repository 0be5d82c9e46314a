// The declarations of rotary embedding and the sinusoidal table against long double.
#include "dsl/position.h"

#include <map>

#include "compare.h"
#include "golden_frequencies.h"
#include "jit_attention.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test::position_test {
namespace {

dsl::RotaryLayout declared(RotaryLayout layout) {
    return layout == RotaryLayout::half ? dsl::RotaryLayout::half : dsl::RotaryLayout::interleaved;
}

int scaling_of(const RotaryModel &model) {
    const std::vector<std::string> names = {"", "linear", "ntk", "yarn", "llama3"};
    return static_cast<int>(std::find(names.begin(), names.end(), model.scaling) - names.begin());
}

/** The scaling of a model as parameters, so that what is declared over them is compiled once for all models. */
class Scaling {
public:
    dsl::FrequencyInputs inputs() const { return {width_, base_, kind_, factor_, original_, low_, high_}; }

    /** That of `m`, for embeddings of `width` channels. */
    void set(const RotaryModel &m, int64_t width) {
        const bool yarn = m.scaling == "yarn";
        width_.set(static_cast<int>(width)), base_.set(m.base), kind_.set(scaling_of(m)), factor_.set(m.factor), original_.set(m.original);
        low_.set(yarn ? m.beta_slow : m.low), high_.set(yarn ? m.beta_fast : m.high);
    }

private:
    Halide::Param<int32_t> width_, kind_;
    Halide::Param<double> base_, factor_, original_, low_, high_;
};

TEST(Frequencies, AreTheGoldenOnes) {
    Scaling scaling;
    const dsl::Frequencies f = dsl::frequencies(scaling.inputs());
    compute_all_at_root(Halide::Pipeline({f.turns_per_token, f.magnitude}));
    for (const golden::Frequencies &golden : golden::frequencies()) {
        scaling.set(golden.model, golden.model.width);
        const Halide::Buffer<double> turns = Halide::Func(f.turns_per_token).realize({static_cast<int>(golden.radians.size())});
        const Halide::Buffer<float> magnitude = Halide::Func(f.magnitude).realize();
        EXPECT_NEAR(magnitude(), golden.magnitude, 1e-7) << golden.name;
        for (int pair = 0; pair < turns.width(); pair++)
            EXPECT_NEAR(turns(pair) * 6.283185307179586476925287, golden.radians[pair], 1e-14 * golden.radians[pair])
                << golden.name << ", pair " << pair;
    }
}

/** The table's declaration, compiled for a number of streams. */
class JitRotaryTable {
public:
    explicit JitRotaryTable(int streams) {
        table_ = dsl::rotary_table(scaling_.inputs(), {positions_, streams, ends_}).table;
        compute_all_at_root(Halide::Pipeline(table_));
    }

    Halide::Buffer<float> table(const RotaryModel &model, const Halide::Buffer<int32_t> &positions, const Halide::Buffer<int32_t> &ends) {
        scaling_.set(model, model.width / model.axes);
        positions_.set(positions), ends_.set(ends);
        return table_.realize({static_cast<int>(model.width / 2), 2, 3, 2});
    }

private:
    Scaling scaling_;
    Halide::ImageParam positions_{Halide::Int(32), 3}, ends_{Halide::Int(32), 1};
    Halide::Func table_;
};

/** The table of 3 tokens in each of 2 items, all streams around `first`. */
void expect_table(const RotaryModel &model, int64_t first) {
    const int streams = static_cast<int>(std::max<int64_t>(model.sections.size(), model.axes)), pairs = static_cast<int>(model.width / 2);
    const auto position = [&](int64_t stream, int64_t batch, int64_t token) { return first + 7 * stream - 3 * batch + token; };
    Halide::Buffer<int32_t> positions(3, streams, 2), ends(streams);
    positions.for_each_element([&](int n, int s, int b) { positions(n, s, b) = static_cast<int32_t>(position(s, b, n)); });
    int end = 0;
    for (int s = 0; s < streams; s++)
        ends(s) = end += model.sections.empty() ? pairs / streams : static_cast<int>(model.sections[s]);
    static std::map<int, JitRotaryTable> compiled;
    const Halide::Buffer<float> got = compiled.try_emplace(streams, streams).first->second.table(model, positions, ends);

    // Interleaved pairs (1, 0) become (cos, sin).
    RotaryModel interleaved = model;
    interleaved.layout = RotaryLayout::interleaved;
    const Tensor<float> x({2, 1, 3, model.width});
    x.each([even = true](float &value) mutable { value = std::exchange(even, !even) ? 1.0f : 0.0f; });
    const std::vector<double> exact = rotary_in_long_double(x, interleaved, position);
    for (int b = 0; b < 2; b++)
        for (int n = 0; n < 3; n++)
            for (int channel = 0; channel < model.width; channel++)
                ASSERT_NEAR(got(channel / 2, channel % 2, n, b), exact[(b * 3 + n) * model.width + channel], 5e-7)
                    << model.scaling_text() << ", item " << b << ", token " << n << ", channel " << channel << " from " << first;
}

TEST(RotaryTable, HoldsEveryScaling) {
    for (const golden::Frequencies &golden : golden::frequencies())
        for (int64_t first : {0, 1000, 1000000, -1000000})
            expect_table(golden.model, first);
}

TEST(RotaryTable, FollowsSectionsAndAxes) {
    RotaryModel sections = golden::scaled(16, 10000, "", 1, 0), axes = golden::scaled(16, 10000, "", 1, 0);
    sections.sections = {2, 0, 3, 3};
    axes.axes = 4;
    for (int64_t first : {5, 1000000})
        expect_table(sections, first), expect_table(axes, first);
    axes = golden::scaled(96, 1e6, "yarn", 8, 4096), axes.axes = 3;
    expect_table(axes, 100);
}

struct RotaryCase {
    std::string name;
    RotaryLayout layout;
    dsl::RotaryShape shape;
};

std::vector<RotaryCase> rotary_cases() {
    const std::pair<std::string, dsl::RotaryShape> shapes[] = {
        {"", {}}, {"_passes_apart", {{{1, {}, false}}, true}}, {"_by_vectors", {{{4, {}, false}, {4}, {2}, {1}}}}};
    std::vector<RotaryCase> cases;
    for (const auto &[name, shape] : shapes) {
        cases.push_back({"half" + name, RotaryLayout::half, shape});
        cases.push_back({"interleaved" + name, RotaryLayout::interleaved, shape});
    }
    return cases;
}

class Rotary : public SeededTestWithParam<RotaryCase> {
protected:
    Rotary() {
        const Halide::Expr pairs = table.dim(0).extent();
        output = dsl::rotary(x, channels, x.dim(1).extent(), declared(GetParam().layout), table, pairs, GetParam().shape).output;
        compute_all_at_root(Halide::Pipeline(output));
        output.compile_jit();
    }

    void expect_close(int64_t dim, int64_t turned) {
        const Tensor<float> in({2, 3, 5, dim}), out({2, 3, 5, dim});
        random.fill_normal(in);
        Halide::Buffer<float> turns(static_cast<int>(turned / 2), 2, 5, 2);
        turns.for_each_element([&](int k, int plane, int n, int b) {
            const double angle = (n + 10 * b) * std::pow(10000.0, -2.0 * k / turned);
            turns(k, plane, n, b) = static_cast<float>(plane == 0 ? std::cos(angle) : std::sin(angle));
        });
        x.set(buffer_of(in)), table.set(turns), channels.set(static_cast<int>(dim));
        Halide::Buffer<float> result = buffer_of(out);
        output.realize(result);
        RotaryModel model;
        model.layout = GetParam().layout, model.width = turned;
        const auto position = [](int64_t, int64_t batch, int64_t token) { return token + 10 * batch; };
        EXPECT_TRUE(agrees(to_double(out), rotary_in_long_double(in, model, position), {3e-6, 1, 0}, 1))
            << dim << " channels, " << turned << " turned";
        for (int64_t channel = turned; channel < dim; channel++)
            ASSERT_EQ(out(1, 2, 4, channel), in(1, 2, 4, channel)) << "channels past the turned ones pass untouched";
        Halide::Buffer<float> place = buffer_of(in);
        output.realize(place);
        ASSERT_TRUE(same_bits(in, out)) << "in place: " << dim << " channels, " << turned << " turned";
    }

    Halide::ImageParam x{Halide::Float(32), 4, "x"}, table{Halide::Float(32), 4, "table"};
    Halide::Param<int32_t> channels;
    Halide::Func output;
};

INSTANTIATE_TEST_SUITE_P(Shapes, Rotary, ::testing::ValuesIn(rotary_cases()), [](const auto &info) { return info.param.name; });

TEST_P(Rotary, TurnsEveryPair) {
    for (int64_t dim : {2, 4, 6, 8, 10, 14, 16, 64})
        expect_close(dim, dim);
}

TEST_P(Rotary, PassesChannelsPastItsWidth) {
    for (int64_t turned : {2, 4, 6, 8, 10, 14, 16})
        for (int64_t passed : {1, 2, 3, 4, 5, 8, 9, 12})
            expect_close(turned + passed, turned);
}

Halide::Func counted_positions(const Halide::Expr &offset) {
    Halide::Func positions("positions");
    Halide::Var token("token"), batch("batch");
    positions(token, batch) = token + offset;
    return positions;
}

TEST(Sinusoidal, AgreesWithLongDouble) {
    Halide::Param<int32_t> width, offset;
    Halide::Param<double> base;
    Halide::Func table = dsl::sinusoidal(width, base, counted_positions(offset)).table;
    compute_all_at_root(Halide::Pipeline(table));
    for (int64_t dim : {1, 2, 5, 64})
        for (int64_t first : {0, 1000, 1000000}) {
            const Tensor<float> out({1, 9, 1, dim});
            width.set(int(dim)), offset.set(int(first)), base.set(10000);
            Halide::Buffer<float> result = buffer_of(out);
            table.realize(result);
            EXPECT_TRUE(agrees(to_double(out), sinusoidal_in_long_double(9, dim, 10000, first), {3e-7, 0, 0}, 1))
                << dim << " channels from " << first;
        }
}

} // namespace
} // namespace attune::test::position_test
