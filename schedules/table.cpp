#include "schedules/table.h"

#include "schedules/schedules.h"

namespace attune::schedules {

const std::vector<AttentionSchedule> &attention_schedules() {
    static const std::vector<AttentionSchedule> table = {
        {"reference", "x86", "every Func in memory, no loop changed: slow, and plainly what the declaration says", reference_blocking,
         reference_attention},
        {"materialized", "x86", "all scores of a head in memory: the textbook way, vectorised", x86::materialized_blocking,
         x86::materialized_attention},
        {"flash", "x86", "scores of one tile of queries and one block of keys at a time, in cache", x86::flash_blocking,
         x86::flash_attention},
    };
    return table;
}

const std::vector<WeightsSchedule> &weights_schedules() {
    static const std::vector<WeightsSchedule> table = {
        {"reference", "x86", "every Func in memory, no loop changed", no_shape, reference_weights},
        {"vectorized", "x86", "a tile of queries at a time, side by side in a vector", no_shape, x86::vectorized_weights},
    };
    return table;
}

const std::vector<SoftmaxSchedule> &softmax_schedules() {
    static const std::vector<SoftmaxSchedule> table = {
        {"reference", "x86", "every Func in memory, no loop changed", no_shape, reference_softmax},
        {"vectorized", "x86", "a row at a time, in vectors", x86::softmax_lanes, x86::vectorized_softmax},
    };
    return table;
}

const std::vector<RotarySchedule> &rotary_schedules() {
    static const std::vector<RotarySchedule> table = {
        {"reference", "x86", "every Func in memory, no loop changed", no_shape, reference_rotary},
        {"vectorized", "x86", "sines and cosines once a token, shared by heads and batch", no_shape, x86::vectorized_rotary},
    };
    return table;
}

const std::vector<SinusoidalSchedule> &sinusoidal_schedules() {
    static const std::vector<SinusoidalSchedule> table = {
        {"reference", "x86", "every Func in memory, no loop changed", no_shape, reference_sinusoidal},
        {"vectorized", "x86", "a row at a time, in vectors", no_shape, x86::vectorized_sinusoidal},
    };
    return table;
}

} // namespace attune::schedules
