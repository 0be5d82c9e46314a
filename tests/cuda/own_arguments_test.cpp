// Kernels of attune_add_kernel on a GPU: what they are handed, and what is launched before them.
#include "device_attention.h"

#include <gtest/gtest.h>

namespace attune::runtime::own_arguments_test {
namespace {

/** Documents for each item's keys, and for queries the same for all. */
struct OwnAttention : DeviceAttention {
    OwnAttention() : DeviceAttention(ATTUNE_BF16) {
        documents = tensor(ATTUNE_I32, {2, 16}), query_documents = tensor(ATTUNE_I32, {1, 8});
        args.documents = &documents, args.query_documents = &query_documents;
        args.key_lengths = &lengths, args.offsets = &offsets;
        desc.kernel = &fake_own_cuda_kernel;
        seen_cache().clear();
    }
    attune_tensor documents, query_documents;
};

TEST(CudaOwnArguments, RangesOfDocumentsAreFoundFirst) {
    OwnAttention a;
    int stream = 0;
    a.call.stream = &stream;
    run_well(a);
    ASSERT_EQ(seen_cache().size(), 1u);
    const SeenCache &ranges = seen_cache()[0];
    EXPECT_STREQ(ranges.kernel, "document_ranges");
    EXPECT_EQ(ranges.stream, &stream);
    EXPECT_TRUE(ranges.before_attention);
    EXPECT_EQ(ranges.update.device, address(a.query_documents));
    EXPECT_EQ(ranges.update.extents, (Ints{8, 2}));
    EXPECT_EQ(ranges.update.strides, (Ints{1, 0}));
    EXPECT_EQ(ranges.starts.device, address(a.documents));
    EXPECT_EQ(ranges.starts.extents, (Ints{16, 2}));
    EXPECT_EQ(ranges.cache.extents, (Ints{4, 1, 2}));

    const SeenAttention &seen = seen_cuda();
    EXPECT_EQ(seen.query_documents.device, address(a.query_documents));
    EXPECT_EQ(seen.key_documents.device, address(a.documents));
    EXPECT_EQ(seen.document_ranges.device, ranges.cache.device);
    EXPECT_EQ(seen.document_ranges.extents, (Ints{4, 1, 2}));
    EXPECT_EQ(seen.document_ranges.strides, (Ints{1, 0, 4}));
    EXPECT_EQ(seen.use_lengths, 2); // by the mask alone
}

TEST(CudaOwnArguments, RangesThatAllItemsShare) {
    OwnAttention a;
    a.documents.extent[0] = 1;
    run_well(a);
    EXPECT_EQ(seen_cache().at(0).cache.extents, (Ints{4, 1, 1}));
    EXPECT_EQ(seen_cuda().document_ranges.extents, (Ints{4, 1, 2}));
    EXPECT_EQ(seen_cuda().document_ranges.strides, (Ints{1, 0, 0}));
}

/** Items that take turns with the memory for chunks' states have ranges of their own, which are found once. */
TEST(CudaOwnArguments, RangesOfManyItems) {
    OwnAttention a;
    const int64_t items = 300, keys = 20000;
    attune_attention_args &args = a.args;
    for (attune_tensor *tensor : {&args.q, &args.k, &args.v, &args.out})
        tensor->extent[0] = items, tensor->extent[1] = 1, tensor->stride[0] = tensor->stride[1] = 64;
    args.q.extent[2] = args.out.extent[2] = 1, args.k.extent[2] = args.v.extent[2] = keys;
    args.q.extent[1] = args.out.extent[1] = 8, args.q.stride[0] = args.out.stride[0] = 8 * 64;
    args.k.stride[2] = args.v.stride[2] = 0;
    a.lengths.extent[0] = a.offsets.extent[0] = items, a.query_documents.extent[1] = 1;
    a.documents.extent[0] = items, a.documents.extent[1] = keys, a.documents.stride[0] = 0;
    run_well(a);
    EXPECT_EQ(seen_cache().size(), 1u);
    const SeenAttention &last = seen_cuda();
    ASSERT_GE(last.earlier.size(), 1u);
    const auto at_once = static_cast<uint64_t>(last.earlier[0].query.extents[3]);
    EXPECT_EQ(last.earlier[0].document_ranges.device, seen_cache()[0].cache.device);
    EXPECT_EQ(last.document_ranges.device, seen_cache()[0].cache.device + last.earlier.size() * at_once * 4 * 4);
}

/** Beyond an item's length there is nothing, whatever the mask says of it. */
TEST(CudaOwnArguments, LengthsOfACacheHoldBesideTheMask) {
    OwnAttention a;
    attune_cache cache;
    attune_cache_init(&cache);
    cache.k = a.tensor(ATTUNE_BF16, {2, 2, 16, 64}), cache.v = a.tensor(ATTUNE_BF16, {2, 2, 16, 64});
    cache.lengths = a.tensor(ATTUNE_I32, {2});
    a.args.cache = &cache, a.args.key_lengths = nullptr, a.args.offsets = nullptr;
    a.args.k.extent[2] = a.args.v.extent[2] = 3;
    run_well(a);
    ASSERT_EQ(seen_cache().size(), 4u);
    EXPECT_EQ(seen_cuda().use_lengths, 1);
}

} // namespace
} // namespace attune::runtime::own_arguments_test
