// How linear layers of few rows read their weights: in the order in which they lie in memory, each once.
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/linear.h"
#include "schedules/table.h"
#include "targets.h"

namespace attune::test::linear_reading_test {
namespace {

using Halide::Float;
constexpr int lanes = dsl::packed_weight::panel_columns, block = dsl::packed_weight::terms_per_block;

/** Where a load of weights begins. */
struct Load {
    int lane, term, which, panel;
    bool operator<(const Load &other) const {
        return std::tie(panel, which, term, lane) < std::tie(other.panel, other.which, other.term, other.lane);
    }
};

std::vector<Load> loads; // of the run under way

int note_load(Halide::JITUserContext *, const halide_trace_event_t *event) {
    const auto at = [&](int dimension) { return event->coordinates[dimension * event->type.lanes]; };
    if (event->event == halide_trace_load) loads.push_back({at(0), at(1), at(2), at(3)});
    return 0;
}

struct Layer {
    Halide::ImageParam x{Float(32), 2, "x"}, weight{Float(32), 4, "weight"}, bias{Float(32), 1, "bias"}, residual{Float(32), 2, "residual"};
    Halide::Param<int32_t> gated{"gated"}, activation{"activation"}, rows_per_task{"rows_per_task"}, columns_per_task{"columns_per_task"};
    schedules::Machine machine;
    dsl::Linear declared;

    Layer(const schedules::LinearSchedule &schedule, const Halide::Target &target) : machine(schedules::machine(target)) {
        for (Halide::OutputImageParam *buffer : {&x, &weight, &residual})
            buffer->dim(0).set_min(0);
        weight.trace_loads();
        const Halide::Expr rows = x.dim(1).extent();
        dsl::LinearBlocking blocking = schedule.shape(machine);
        blocking.words_ahead = 0; // what is asked for isn't read
        declared = dsl::linear({x, weight, bias, residual, x.dim(0).extent(), rows, weight.dim(3).extent(), gated, activation,
                                rows_per_task, columns_per_task, Float(32), Float(32)},
                               blocking);
        schedule.apply(declared, machine);
    }

    void run(int rows, int terms, int panels, const Halide::Target &target) {
        Halide::Buffer<float> inputs(terms, rows), weights(lanes, terms, 2, panels), biases(panels * lanes),
            residuals(panels * lanes, rows);
        for (Halide::Buffer<float> *buffer : {&inputs, &weights, &biases, &residuals})
            buffer->fill(0.0f);
        x.set(inputs), weight.set(weights), bias.set(biases), residual.set(residuals);
        gated.set(1), activation.set(int(dsl::activation_silu)), rows_per_task.set(rows), columns_per_task.set(panels * lanes);
        Halide::Pipeline pipeline(declared.y);
        pipeline.jit_handlers().custom_trace = note_load;
        loads.clear();
        pipeline.realize({panels * lanes, rows}, target);
    }
};

class LinearReading : public ::testing::TestWithParam<std::tuple<Halide::Target, std::string>> {};

std::string name(const ::testing::TestParamInfo<LinearReading::ParamType> &info) {
    return name_of_target(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}
INSTANTIATE_TEST_SUITE_P(Machines, LinearReading,
                         ::testing::Combine(::testing::ValuesIn(runnable_targets()), ::testing::Values("row", "rows", "eight_rows")), name);

TEST_P(LinearReading, IsInOrder) {
    const auto &[target, schedule] = GetParam();
    for (const schedules::LinearSchedule &entry : schedules::linear_schedules()) {
        if (entry.name != schedule) continue;
        Layer layer(entry, target);
        const int rows = layer.declared.blocking.rows_per_tile, terms = 2 * block + 100, panels = 8;
        const int side_by_side = layer.declared.blocking.panels_at_once;
        layer.run(rows, terms, panels, target);

        std::map<Load, int> times;
        auto place = [&](const Load &load) { return std::tuple(load.panel / side_by_side, load.which, load.term / block); };
        for (size_t i = 0; i < loads.size(); ++i) {
            ++times[loads[i]];
            if (i > 0) {
                ASSERT_LE(place(loads[i - 1]), place(loads[i])) << "load " << i;
            }
        }
        EXPECT_EQ(times.size(), size_t(panels) * 2 * terms * (lanes / layer.machine.float_lanes));
        for (const auto &[load, count] : times)
            ASSERT_EQ(count, 1) << "panel " << load.panel << ", term " << load.term;
    }
}

} // namespace
} // namespace attune::test::linear_reading_test
