// One test for each bad argument of a cache write.
#include "error_test.h"

namespace attune::test::cache_write_error_test {
namespace {

constexpr int64_t past_int32 = int64_t(1) << 31;

/** 2 tokens into a cache of 5, for 2 batch items and 3 heads of width 4. */
struct GoodCacheWrite {
    Tensor<float> cache{{2, 3, 5, 4}, {{}, 2}}, update{{2, 3, 2, 4}};
    Tensor<int32_t> starts{{2}};
    attune_tensor starts_view;
    attune_cache_write_args args;
    attune_cache_write_args *pointer = &args;

    GoodCacheWrite() {
        update.fill(1), starts.fill(3), starts_view = starts.view(), attune_cache_write_args_init(&args);
        args.cache = cache.view(), args.update = update.view(), args.starts = &starts_view;
    }
    GoodCacheWrite(const GoodCacheWrite &) = delete;
    attune_status run() { return attune_cache_write(pointer, nullptr); }
};

using Good = GoodCacheWrite;
class CacheWriteError : public ::testing::TestWithParam<BadCall<Good>> {};

TEST(CacheWriteErrorControl, TheGoodCallRuns) {
    Good good;
    EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_FALSE(good.cache.untouched());
}

TEST(CacheWriteErrorControl, NoMemoryIsUsed) {
    Good good;
    attune_call call = ATTUNE_CALL_INIT;
    call.workspace_bytes = 12345; // of the call before
    EXPECT_EQ(attune_cache_write(&good.args, &call), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(call.workspace_bytes, 0u);
    call.workspace_bytes = 12345, good.args.cache.rank = 1;
    EXPECT_EQ(attune_cache_write(&good.args, &call), ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(call.workspace_bytes, 0u);
}

TEST_P(CacheWriteError, IsNamedAndNothingIsWritten) {
    Good call;
    GetParam().spoil(call);
    expect_error(call.run(), GetParam().status, GetParam().words);
    EXPECT_TRUE(call.cache.untouched());
}

void set_start(Good &g, int32_t item, int32_t value) { g.starts(item) = value; }
void make_circular(Good &g) { g.args.circular = 1; }

const BadCall<Good> tensor_errors[] = {
    {"NoArgs", [](Good &g) { g.pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](Good &g) { g.args.struct_size = 3; }, {"struct_size", "3", "attune_cache_write_args_init"}},
    {"CacheNull", [](Good &g) { g.args.cache.data = nullptr; }, {"cache.data", "NULL"}},
    {"CacheMisaligned", [](Good &g) { g.args.cache.data = static_cast<char *>(g.args.cache.data) + 2; }, {"cache.data"}},
    {"CacheType",
     [](Good &g) { g.args.cache.type = static_cast<attune_type>(9); },
     {"cache.type is 9; it must be f32, f16, bf16, i32, i64, bool or i8"}},
    {"CacheRankOne", [](Good &g) { g.args.cache.rank = 1; }, {"cache.rank", "1", "2 to 8"}},
    {"CacheRankNine", [](Good &g) { g.args.cache.rank = 9; }, {"cache.rank", "9", "2 to 8"}},
    {"CacheExtentNegative", [](Good &g) { g.args.cache.extent[1] = -1; }, {"cache.extent[1]", "-1"}},
    {"CacheExtentPastInt32", [](Good &g) { g.args.cache.extent[2] = past_int32; }, {"cache.extent[2]", "2147483648"}},
    {"CacheStrideZero", [](Good &g) { g.args.cache.stride[1] = 0; }, {"cache.stride[1]", "0"}},
    {"CacheStrideNegative", [](Good &g) { g.args.cache.stride[2] = -6; }, {"cache.stride[2]", "-6"}},
    {"CacheOverItself", [](Good &g) { g.args.cache.stride[2] = 2; }, {"cache", "share memory"}},
    {"CacheDevice", [](Good &g) { g.args.cache.device = static_cast<attune_device>(3); }, {"cache.device", "3"}, ATTUNE_UNSUPPORTED},
    {"UpdateNull", [](Good &g) { g.args.update.data = nullptr; }, {"update.data", "NULL"}},
    {"UpdateType", [](Good &g) { g.args.update.type = ATTUNE_I32; }, {"update.type", "i32", "f32"}},
    {"UpdateTypeUnknown", [](Good &g) { g.args.update.type = static_cast<attune_type>(9); }, {"update.type", "9", "f32"}},
    {"UpdateRank", [](Good &g) { g.args.update.rank = 3; }, {"update.rank", "3", "4"}},
    {"UpdateBatch", [](Good &g) { g.args.update.extent[0] = 1; }, {"update.extent[0]", "1", "2", "cache"}},
    {"UpdateHeads", [](Good &g) { g.args.update.extent[1] = 4; }, {"update.extent[1]", "4", "3", "cache"}},
    {"UpdateWidth", [](Good &g) { g.args.update.extent[3] = 3; }, {"update.extent[3]", "3", "4", "cache"}},
    {"UpdateLongerThanTheCache", [](Good &g) { g.args.update.extent[2] = 6; }, {"update.extent[2]", "6", "0 to 5", "capacity"}},
    {"UpdateLongerThanTheCacheCircular",
     [](Good &g) { g.args.update.extent[2] = 6, make_circular(g); },
     {"update.extent[2]", "6", "0 to 5", "capacity"}},
    {"UpdateInTheCache", [](Good &g) { g.args.update.data = static_cast<float *>(g.args.cache.data) + 8; }, {"cache", "update", "overlap"}},
};
const BadCall<Good> number_errors[] = {
    {"AxisOfTheBatch", [](Good &g) { g.args.axis = 0; }, {"axis", "0", "1 to 3", "-3 to -1"}},
    {"AxisOfTheBatchFromTheEnd", [](Good &g) { g.args.axis = -4; }, {"axis", "-4", "-3 to -1"}},
    {"AxisPastTheEnd", [](Good &g) { g.args.axis = 4; }, {"axis", "4", "1 to 3"}},
    {"AxisFarBelow", [](Good &g) { g.args.axis = INT32_MIN; }, {"axis", "-2147483648"}},
    {"StartsNull", [](Good &g) { g.starts_view.data = nullptr; }, {"starts.data", "NULL"}},
    {"StartsType", [](Good &g) { g.starts_view.type = ATTUNE_F32; }, {"starts.type is f32; it must be i32 or i64"}},
    {"StartsRank", [](Good &g) { g.starts_view.rank = 2; }, {"starts.rank", "2", "1"}},
    {"StartsExtent", [](Good &g) { g.starts_view.extent[0] = 1; }, {"starts.extent[0]", "1", "2", "batch"}},
    {"StartNegative", [](Good &g) { set_start(g, 1, -1); }, {"starts[1]", "-1", "0"}},
    {"StartNegativeCircular", [](Good &g) { set_start(g, 0, -5), make_circular(g); }, {"starts[0]", "-5", "0"}},
    {"StartTooLate", [](Good &g) { set_start(g, 1, 4); }, {"starts[1]", "4", "0 to 3", "2 tokens", "5"}},
    {"StartsInTheCache", [](Good &g) { g.starts_view.data = g.args.cache.data, make_circular(g); }, {"cache", "starts", "overlap"}},
};

INSTANTIATE_TEST_SUITE_P(Tensors, CacheWriteError, ::testing::ValuesIn(tensor_errors), bad_call_name<Good>);
INSTANTIATE_TEST_SUITE_P(Numbers, CacheWriteError, ::testing::ValuesIn(number_errors), bad_call_name<Good>);

} // namespace
} // namespace attune::test::cache_write_error_test
