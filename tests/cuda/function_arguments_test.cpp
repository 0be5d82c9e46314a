// Softmax and its kin on tensors of a GPU.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/attune.hpp"
#include "fake_cuda.h"

namespace attune::runtime::function_arguments_test {
namespace {

struct Memory {
    std::vector<float> floats = std::vector<float>(64, 77.0f), results = std::vector<float>(64, 77.0f);
    TensorView x = on_cuda({floats.data(), {4, 8}}), y = on_cuda({results.data(), {4, 8}});
    TensorView host = {floats.data(), {4, 8}};
    Memory() { seen_cuda() = {}; }
};

void expect_message(const attune::Status &status, attune_status code, const std::string &words) {
    EXPECT_EQ(status.code, code);
    EXPECT_NE(status.message.find(words), std::string::npos) << status.message;
}

TEST(CudaFunctions, SoftmaxTakesDeviceTensors) {
    Memory m;
    int stream = 0;
    attune::Call call = attune::Call::on(&stream);
    const attune::Status status = softmax(m.x, m.y, {}, &call);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_STREQ(seen_cuda().kernel, "warps_softmax");
    EXPECT_EQ(seen_cuda().stream, &stream);
    EXPECT_EQ(seen_cuda().query.device, reinterpret_cast<uintptr_t>(m.floats.data()));
    EXPECT_NE(seen_cuda().key.device, 0u); // the mask's stand-in
    EXPECT_FALSE(seen_cuda().key.host);
}

TEST(CudaFunctions, TheLengthOfRowsDecidesHowManyThreadsSoftmaxGivesThem) {
    std::vector<float> floats(2 * 16385), results(floats.size());
    const auto kernel = [&](int64_t length, attune_type type = ATTUNE_F32, const std::string &schedule = "") -> std::string {
        const auto rows = [&](std::vector<float> &data) {
            attune_tensor t = on_cuda({data.data(), {2, length}});
            t.type = type;
            return TensorView(t);
        };
        seen_cuda() = {};
        const attune::Status status = softmax(rows(floats), rows(results), {1, false, -1, nullptr, schedule});
        return status.ok() ? seen_cuda().kernel : status.message;
    };
    EXPECT_EQ(kernel(1), "warps_softmax");
    EXPECT_EQ(kernel(1024), "warps_softmax");
    EXPECT_EQ(kernel(1025), "simt_softmax");
    EXPECT_EQ(kernel(16384), "simt_softmax");
    EXPECT_EQ(kernel(16385), "wide_softmax");
    EXPECT_EQ(kernel(8, ATTUNE_F32, "simt"), "simt_softmax") << "as it was named";
    EXPECT_EQ(kernel(1025, ATTUNE_F32, "warps"), "warps_softmax");
    EXPECT_EQ(kernel(8, ATTUNE_F16), "simt_softmax_f16") << "where there is no other";
}

TEST(CudaFunctions, AllTensorsAreOnOneDevice) {
    Memory m;
    expect_message(softmax(m.host, m.y), ATTUNE_INVALID_ARGUMENT, "y.device is cuda; it must be cpu");
    expect_message(softmax(m.x, m.host), ATTUNE_INVALID_ARGUMENT, "y.device is cpu; it must be cuda");
    bool cells[32] = {};
    const TensorView mask(cells, {4, 8});
    SoftmaxOptions options;
    options.mask = &mask;
    expect_message(softmax(m.x, m.y, options), ATTUNE_INVALID_ARGUMENT, "mask.device is cpu; it must be cuda");
    expect_message(rotary(m.x, m.host), ATTUNE_INVALID_ARGUMENT, "y.device is cpu; it must be cuda");
    const TensorView four = on_cuda({m.floats.data(), {1, 1, 4, 8}}), three(m.results.data(), {1, 1, 4});
    expect_message(merge({four, three}, {four, three}, {four, three}), ATTUNE_INVALID_ARGUMENT, "a_lse.device is cpu; it must be cuda");
}

TEST(CudaFunctions, WithoutAKernelItIsSaid) {
    Memory m;
    SoftmaxOptions log;
    log.log = true;
    expect_message(softmax(m.x, m.y, log), ATTUNE_UNSUPPORTED, "no kernel that does log_softmax on device cuda is linked in");
    expect_message(rotary(m.x, m.y), ATTUNE_UNSUPPORTED, "no kernel that does rotary_half on device cuda is linked in");
    expect_message(sinusoidal(m.y), ATTUNE_UNSUPPORTED, "no kernel that does sinusoidal on device cuda is linked in");
    expect_message(add_positions(m.x, m.y), ATTUNE_UNSUPPORTED, "no kernel that does add_positions on device cuda is linked in");
    expect_message(alibi_slopes(on_cuda({m.results.data(), {8}})), ATTUNE_UNSUPPORTED, "no kernel that does alibi_slopes on device cuda");
    SoftmaxOptions vectorized;
    vectorized.schedule = "vectorized";
    expect_message(softmax(m.x, m.y, vectorized), ATTUNE_INVALID_ARGUMENT, "the schedules of softmax on device cuda are simt");
}

TEST(CudaFunctions, RotaryReadsNoRowsOfItsOwn) {
    Memory m;
    RotaryOptions options;
    options.cosines = options.sines = &m.x;
    expect_message(rotary(m.x, m.y, options), ATTUNE_UNSUPPORTED, "cosines is given; rotary embedding on device cuda");
    int64_t numbers[4] = {};
    const TensorView positions = on_cuda({numbers, {4}});
    options = {};
    options.positions = &positions;
    expect_message(rotary(m.x, m.y, options), ATTUNE_INVALID_ARGUMENT, "positions.type is i64; on device cuda it must be i32");
}

TEST(CudaFunctions, AddedPositionsReadRowsInOrder) {
    Memory m;
    int32_t numbers[4] = {};
    const TensorView positions = on_cuda({numbers, {4}}), host_positions(numbers, {4});
    AddPositionsOptions options;
    options.table = &m.x, options.positions = &positions;
    expect_message(add_positions(m.x, m.y, options), ATTUNE_UNSUPPORTED,
                   "positions is given beside table; on device cuda a table's rows are those from offset on");
    options.table = &m.host, options.positions = nullptr;
    expect_message(add_positions(m.x, m.y, options), ATTUNE_INVALID_ARGUMENT, "table.device is cpu; it must be cuda");
    options.table = &m.x, options.offset = 1;
    expect_message(add_positions(m.x, m.y, options), ATTUNE_INVALID_ARGUMENT, "offset is 1; it must be 0 to 0");
    options = {};
    options.positions = &host_positions;
    expect_message(add_positions(m.x, m.y, options), ATTUNE_INVALID_ARGUMENT, "positions.device is cpu; it must be cuda");
}

TEST(CudaFunctions, OthersAreForTheCpu) {
    Memory m;
    expect_message(rms_norm(m.x, m.y, {}), ATTUNE_INVALID_ARGUMENT, "x.device is cuda; it must be cpu, where this call runs");
}

TEST(CudaFunctions, CacheWriteTakesDeviceTensors) {
    Memory m;
    seen_cache().clear();
    int stream = 0;
    attune::Call call = attune::Call::on(&stream);
    int32_t numbers[2] = {};
    const TensorView starts = on_cuda({numbers, {2}}), cache = on_cuda({m.floats.data(), {2, 5, 4}});
    const TensorView update = on_cuda({m.results.data(), {2, 3, 4}});
    CacheWriteOptions options;
    options.starts = &starts, options.circular = true;
    const attune::Status status = cache_write(cache, update, options, &call);
    ASSERT_TRUE(status.ok()) << status.message;
    ASSERT_EQ(seen_cache().size(), 1u);
    const SeenCache &seen = seen_cache()[0];
    EXPECT_EQ(seen.stream, &stream);
    EXPECT_EQ(seen.cache.extents, (std::vector<int32_t>{4, 5, 1, 2}));
    EXPECT_EQ(seen.update.extents, (std::vector<int32_t>{4, 3, 1, 2}));
    EXPECT_EQ(seen.starts.device, reinterpret_cast<uintptr_t>(numbers));
    EXPECT_EQ(seen.numbers, (std::vector<int32_t>{1, 0, 1, 5, 2}));
}

TEST(CudaFunctions, CacheWriteNamesWhatItRefuses) {
    Memory m;
    const TensorView cache = on_cuda({m.floats.data(), {2, 4, 4}}), update = on_cuda({m.results.data(), {2, 2, 4}});
    expect_message(cache_write(cache, TensorView(m.results.data(), {2, 2, 4})), ATTUNE_INVALID_ARGUMENT, "update.device is cpu");
    int64_t wide[2] = {};
    const TensorView starts = on_cuda({wide, {2}});
    CacheWriteOptions options;
    options.starts = &starts;
    expect_message(cache_write(cache, update, options), ATTUNE_INVALID_ARGUMENT, "starts.type is i64; it must be i32");
    int32_t whole[32] = {}, more[16] = {};
    expect_message(cache_write(on_cuda({whole, {2, 4, 4}}), on_cuda({more, {2, 2, 4}})), ATTUNE_UNSUPPORTED,
                   "cache.type is i32; on device cuda it must be f32, f16 or bf16");
    expect_message(cache_write(on_cuda({m.floats.data(), {1, 1, 2, 4, 4}}), on_cuda({m.results.data(), {1, 1, 2, 2, 4}})),
                   ATTUNE_UNSUPPORTED, "cache.rank is 5; on device cuda it must be 2 to 4");
}

} // namespace
} // namespace attune::runtime::function_arguments_test
