// The bad arguments that the functions beside attention have in common.
#pragma once

#include <cstdint>

#include "error_test.h"

namespace attune::test {

constexpr int64_t past_int32 = int64_t(1) << 31;

template <typename Good> void expect_bad(const BadCall<Good> &bad) {
    Good call;
    bad.spoil(call);
    expect_error(call.run(), bad.status, bad.words);
    EXPECT_TRUE(call.outputs_untouched());
}

/** What the calls have in common. */
template <typename Good> std::vector<BadCall<Good>> common_errors() {
    return {
        {"NoArgs", [](Good &g) { g.pointer = nullptr; }, {"args", "NULL"}},
        {"ArgsOfAnotherSize", [](Good &g) { g.args.struct_size = 3; }, {"struct_size", "3"}},
        {"CallOfAnotherSize", [](Good &g) { g.call.struct_size = 3; }, {"struct_size", "3"}},
        {"ThreadsNegative", [](Good &g) { g.call.threads = -1; }, {"threads", "-1"}},
        {"ScheduleUnknown", [](Good &g) { g.args.schedule = "quick"; }, {"schedule", "quick", "reference", "vectorized"}},
        {"YNull", [](Good &g) { g.args.y.data = nullptr; }, {"y", "NULL"}},
        {"YMisaligned", [](Good &g) { g.args.y.data = static_cast<char *>(g.args.y.data) + 2; }, {"y.data"}},
        {"YType", [](Good &g) { g.args.y.type = ATTUNE_I32; }, {"y.type", "i32", "f32"}},
        {"YRankZero", [](Good &g) { g.args.y.rank = 0; }, {"y.rank", "0"}},
        {"YRankNine", [](Good &g) { g.args.y.rank = 9; }, {"y.rank", "9"}},
        {"YExtentNegative", [](Good &g) { g.args.y.extent[0] = -1; }, {"y.extent[0]", "-1"}},
        {"YExtentPastInt32", [](Good &g) { g.args.y.extent[0] = past_int32; }, {"y.extent[0]", "2147483648"}},
        {"YStrideZero", [](Good &g) { g.args.y.stride[0] = 0; }, {"y.stride[0]", "0"}},
        {"YStrideNegative", [](Good &g) { g.args.y.stride[0] = -10; }, {"y.stride[0]", "-10"}},
        {"YStridePastInt32", [](Good &g) { g.args.y.stride[0] = past_int32; }, {"y.stride[0]", "2147483648"}},
        {"YOverItself", [](Good &g) { g.args.y.stride[0] = 1; }, {"y"}},
        {"Device", [](Good &g) { g.args.y.device = static_cast<attune_device>(3); }, {"y.device", "3"}, ATTUNE_UNSUPPORTED},
    };
}

/** And those that read a tensor. */
template <typename Good> std::vector<BadCall<Good>> input_errors() {
    std::vector<BadCall<Good>> errors = common_errors<Good>();
    const std::vector<BadCall<Good>> more = {
        {"XNull", [](Good &g) { g.args.x.data = nullptr; }, {"x", "NULL"}},
        {"XType", [](Good &g) { g.args.x.type = ATTUNE_BOOL; }, {"x.type", "bool", "f32"}},
        {"XRank", [](Good &g) { g.args.x.rank = 9; }, {"x.rank", "9"}},
        {"RanksDisagree", [](Good &g) { g.args.y.rank--, g.args.y.stride[g.args.y.rank - 1] = 1; }, {"rank"}},
        {"ExtentsDisagree", [](Good &g) { g.args.y.extent[0] = 1; }, {"y.extent[0]", "1", std::to_string(Good().x.extent[0])}},
        {"YOverPartOfX", [](Good &g) { g.args.y.data = static_cast<float *>(g.args.x.data) + 4; }, {"y", "x", "overlap"}},
    };
    errors.insert(errors.end(), more.begin(), more.end());
    return errors;
}

/** Those of a function whose innermost axes must be contiguous. */
template <typename Good> std::vector<BadCall<Good>> contiguous_errors() {
    std::vector<BadCall<Good>> errors = common_errors<Good>();
    errors.push_back({"YInnermostStride", [](Good &g) { g.args.y.stride[g.args.y.rank - 1] = 2; }, {"y.stride", "2", "1"}});
    return errors;
}
template <typename Good> std::vector<BadCall<Good>> contiguous_input_errors() {
    std::vector<BadCall<Good>> errors = input_errors<Good>();
    errors.push_back({"YInnermostStride", [](Good &g) { g.args.y.stride[g.args.y.rank - 1] = 2; }, {"y.stride", "2", "1"}});
    errors.push_back({"XInnermostStride", [](Good &g) { g.args.x.stride[g.args.x.rank - 1] = 3; }, {"x.stride", "3", "1"}});
    return errors;
}

} // namespace attune::test
