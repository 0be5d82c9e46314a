// A run over a cache on a GPU: what is launched, and one test for each argument that can be wrong.
#include "device_attention.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace attune::runtime::cache_arguments_test {
namespace {

/** 3 new tokens, 8 queries, and a cache of 5 pages of 32 tokens, 2 of which an item has. */
struct CachedAttention : DeviceAttention {
    explicit CachedAttention(attune_type type = ATTUNE_BF16) : DeviceAttention(type, 3) {
        attune_cache_init(&cache);
        cache.k = tensor(type, {5, 2, 32, 64}), cache.v = tensor(type, {5, 2, 32, 64});
        cache.lengths = tensor(ATTUNE_I32, {2}), table = tensor(ATTUNE_I32, {2, 2}), cache.block_table = &table;
        args.cache = &cache;
        desc.mask = "causal";
        seen_cache().clear();
    }
    attune_cache cache;
    attune_tensor table;
};

TEST(CudaCacheArguments, AppendsThenCountsThenAttends) {
    CachedAttention a;
    int stream = 0;
    a.call.stream = &stream;
    run_well(a);
    ASSERT_EQ(seen_cache().size(), 3u);
    const SeenCache &keys = seen_cache()[0], &values = seen_cache()[1], &counts = seen_cache()[2];
    for (const SeenCache &seen : seen_cache()) {
        EXPECT_EQ(seen.stream, &stream);
        EXPECT_TRUE(seen.before_attention);
    }
    EXPECT_STREQ(keys.kernel, "write_f16"); // bits
    EXPECT_EQ(keys.update.device, address(a.args.k));
    EXPECT_EQ(keys.update.extents, (Ints{64, 3, 2, 2}));
    EXPECT_EQ(keys.cache.device, address(a.cache.k));
    EXPECT_EQ(keys.cache.extents, (Ints{64, 32, 2, 5}));
    EXPECT_EQ(keys.starts.device, address(a.cache.lengths));
    EXPECT_EQ(keys.pages.device, address(a.table));
    EXPECT_EQ(keys.pages.extents, (Ints{2, 2}));
    EXPECT_EQ(keys.numbers, (Ints{1, 1, 0, 32, 5})); // starts, pages, not circular, page size, pages
    EXPECT_EQ(values.update.device, address(a.args.v));
    EXPECT_EQ(values.cache.device, address(a.cache.v));
    EXPECT_EQ(counts.starts.device, address(a.cache.lengths));
    EXPECT_EQ(counts.numbers, (Ints{3, 8, 64})); // new tokens, queries, capacity
    EXPECT_EQ(counts.cache.extents, (Ints{2, 2}));

    const SeenAttention &seen = seen_cuda();
    EXPECT_STREQ(seen.kernel, "mma_bf16_d64");
    EXPECT_EQ(seen.key.device, address(a.cache.k));
    EXPECT_EQ(seen.key.extents, (Ints{32, 32, 2, 5}));
    EXPECT_EQ(seen.value.device, address(a.cache.v));
    EXPECT_EQ(seen.use_pages, 1);
    EXPECT_EQ(seen.pages.device, address(a.table));
    EXPECT_EQ(seen.keys, 64);
    EXPECT_EQ(seen.use_lengths, 1);
    EXPECT_EQ(seen.lengths.device, counts.cache.device);
    EXPECT_EQ(seen.use_offsets, 1);
    EXPECT_EQ(seen.offsets.device, counts.cache.device + 2 * 4);
    EXPECT_EQ(seen.right, 0);
}

TEST(CudaCacheArguments, OneTensorAnItem) {
    CachedAttention a(ATTUNE_F32);
    a.cache.block_table = nullptr, a.cache.k.extent[0] = a.cache.v.extent[0] = 2;
    run_well(a);
    EXPECT_STREQ(seen_cache().at(0).kernel, "write_f32");
    EXPECT_EQ(seen_cache()[0].numbers, (Ints{1, 0, 0, 32, 2}));
    EXPECT_EQ(seen_cuda().use_pages, 0);
    EXPECT_EQ(seen_cuda().key.extents, (Ints{64, 32, 2, 2}));
    EXPECT_EQ(seen_cuda().keys, 32);
}

TEST(CudaCacheArguments, OffsetsOfTheCallersOwn) {
    CachedAttention a;
    a.args.offsets = &a.offsets;
    run_well(a);
    EXPECT_EQ(seen_cuda().offsets.device, address(a.offsets));
    CachedAttention same;
    same.args.has_offset = 1, same.args.offset = 40;
    run_well(same);
    EXPECT_EQ(seen_cuda().use_offsets, 0);
    EXPECT_EQ(seen_cuda().offset, 40);
    EXPECT_EQ(seen_cuda().use_lengths, 1);
}

TEST(CudaCacheArguments, NothingNewOrNothingAsked) {
    CachedAttention a;
    a.args.k.extent[2] = a.args.v.extent[2] = 0;
    run_well(a);
    ASSERT_EQ(seen_cache().size(), 1u);
    EXPECT_STREQ(seen_cache()[0].kernel, "cache_counts");
    EXPECT_NE(seen_cuda().kernel, nullptr);
    CachedAttention append;
    append.args.q.extent[2] = append.args.out.extent[2] = 0;
    run_well(append);
    EXPECT_GE(seen_cache().size(), 2u);
    EXPECT_EQ(seen_cuda().kernel, nullptr);
}

/** Items that take turns with the memory for chunks' states share pages, and have rows of the table of their own. */
TEST(CudaCacheArguments, SplitKeysOfManyItems) {
    CachedAttention a;
    const int64_t items = 300, columns = 625;
    attune_attention_args &args = a.args;
    for (attune_tensor *tensor : {&args.q, &args.k, &args.v, &args.out})
        tensor->extent[0] = items, tensor->extent[1] = 1, tensor->stride[0] = tensor->stride[1] = 64;
    args.q.extent[2] = args.out.extent[2] = 1, args.k.extent[2] = args.v.extent[2] = 1;
    args.q.extent[1] = args.out.extent[1] = 8, args.q.stride[0] = args.out.stride[0] = 8 * 64;
    for (attune_tensor *tensor : {&a.cache.k, &a.cache.v})
        tensor->extent[1] = 1;
    a.cache.lengths.extent[0] = a.table.extent[0] = items, a.table.extent[1] = columns, a.table.stride[0] = 1, a.table.stride[1] = 0;
    run_well(a);
    const SeenAttention &last = seen_cuda();
    ASSERT_EQ(last.earlier.size(), 1u);
    const auto at_once = static_cast<uint64_t>(last.earlier[0].query.extents[3]);
    EXPECT_EQ(last.key.device, address(a.cache.k));
    EXPECT_EQ(last.key.extents, (Ints{32, 32, 1, 5}));
    EXPECT_EQ(last.pages.device, address(a.table) + at_once * 4);
    EXPECT_EQ(last.pages.extents, (Ints{625, 300 - static_cast<int32_t>(at_once)}));
    EXPECT_EQ(last.lengths.device, last.earlier[0].lengths.device + at_once * 4);
    EXPECT_EQ(last.offsets.device, last.earlier[0].offsets.device + at_once * 4);
    EXPECT_EQ(seen_cache().size(), 3u); // one append
}

struct Case {
    const char *name;
    attune_status status;
    const char *words;
    std::function<void(CachedAttention &)> spoil;
};
void PrintTo(const Case &c, std::ostream *stream) { *stream << c.name; }

constexpr attune_status invalid = ATTUNE_INVALID_ARGUMENT, unsupported = ATTUNE_UNSUPPORTED;

const Case cases[] = {
    {"Struct", invalid, "cache.struct_size is 3", [](CachedAttention &a) { a.cache.struct_size = 3; }},
    {"Ring", unsupported, "cache.ring is set; a cache on device cuda is no ring", [](CachedAttention &a) { a.cache.ring = 1; }},
    {"Int8", unsupported, "cache.k_scale is given; a cache on device cuda is of the plan's dtype, not of i8",
     [](CachedAttention &a) { a.cache.k_scale = &a.other; }},
    {"ValueScale", unsupported, "cache.v_scale is given", [](CachedAttention &a) { a.cache.v_scale = &a.other; }},
    {"KeysOnCpu", invalid, "cache.k.device is cpu; it must be cuda", [](CachedAttention &a) { a.cache.k.device = ATTUNE_CPU; }},
    {"ValuesOnCpu", invalid, "cache.v.device is cpu; it must be cuda", [](CachedAttention &a) { a.cache.v.device = ATTUNE_CPU; }},
    {"Type", invalid, "cache.k.type is f16; it must be bf16", [](CachedAttention &a) { a.cache.k.type = ATTUNE_F16; }},
    {"Heads", invalid, "cache.k.extent[1] is 1; it must be 2", [](CachedAttention &a) { a.cache.k.extent[1] = 1; }},
    {"Pages", invalid, "cache.v.extent[0] is 4; it must be 5", [](CachedAttention &a) { a.cache.v.extent[0] = 4; }},
    {"Batch", invalid, "cache.k.extent[0] is 5; it must be 2", [](CachedAttention &a) { a.cache.block_table = nullptr; }},
    {"LengthsOnCpu", invalid, "cache.lengths.device is cpu", [](CachedAttention &a) { a.cache.lengths.device = ATTUNE_CPU; }},
    {"LengthsType", invalid, "cache.lengths.type is i64; it must be i32", [](CachedAttention &a) { a.cache.lengths.type = ATTUNE_I64; }},
    {"LengthsExtent", invalid, "cache.lengths.extent[0] is 1; it must be 2", [](CachedAttention &a) { a.cache.lengths.extent[0] = 1; }},
    {"TableOnCpu", invalid, "cache.block_table.device is cpu", [](CachedAttention &a) { a.table.device = ATTUNE_CPU; }},
    {"TableType", invalid, "cache.block_table.type is i64; it must be i32", [](CachedAttention &a) { a.table.type = ATTUNE_I64; }},
    {"TableExtent", invalid, "cache.block_table.extent[0] is 1; it must be 2", [](CachedAttention &a) { a.table.extent[0] = 1; }},
    {"PageSize", invalid, "cache.k.extent[2] is 24; with a block table it must be a power of two for the kernel mma_bf16_d64",
     [](CachedAttention &a) { a.cache.k.extent[2] = a.cache.v.extent[2] = 24; }},
    {"Stride", invalid, "cache.v.stride[2] is 66; it must be a multiple of 8 for the kernel mma_bf16_d64",
     [](CachedAttention &a) { a.cache.v.stride[2] = 66, a.cache.v.stride[1] = 66 * 32, a.cache.v.stride[0] = 66 * 64; }},
    {"NewTokens", invalid, "k has 65 new tokens; they must be at most 64",
     [](CachedAttention &a) { a.args.k.extent[2] = a.args.v.extent[2] = 65, a.args.k.stride[1] = a.args.v.stride[1] = 0; }},
    {"KeyLengths", invalid, "key_lengths is given; with a cache it must be NULL",
     [](CachedAttention &a) { a.args.key_lengths = &a.lengths; }},
    {"Alignment", invalid, "the plan's mask, score or position names bottom_right",
     [](CachedAttention &a) { a.desc.mask = "causal(bottom_right)"; }},
    {"Overlap", invalid, "cache.k overlaps q", [](CachedAttention &a) { a.cache.k.data = a.args.q.data; }},
    {"TwoOffsets", invalid, "offset is 3 and offsets is given too",
     [](CachedAttention &a) { a.args.offsets = &a.offsets, a.args.has_offset = 1, a.args.offset = 3; }},
};

class CudaCacheError : public ::testing::TestWithParam<Case> {};

TEST_P(CudaCacheError, NamesWhatIsWrongAndLaunchesNothing) {
    CachedAttention attention;
    GetParam().spoil(attention);
    EXPECT_EQ(attention.run(), GetParam().status);
    const std::string sentence = attune_error_message();
    EXPECT_NE(sentence.find(GetParam().words), std::string::npos) << sentence;
    EXPECT_EQ(seen_cuda().kernel, nullptr);
    EXPECT_TRUE(seen_cache().empty());
}

INSTANTIATE_TEST_SUITE_P(Arguments, CudaCacheError, ::testing::ValuesIn(cases),
                         [](const ::testing::TestParamInfo<Case> &info) { return std::string(info.param.name); });

} // namespace
} // namespace attune::runtime::cache_arguments_test
