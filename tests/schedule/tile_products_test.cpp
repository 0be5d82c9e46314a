// The pass that makes products of tiles. What they compute the kernels' tests show, on CPUs with AMX and by emulation.
#include "schedules/x86/tile_products.h"

#include <map>

#include <gtest/gtest.h>

#include "lowered.h"
#include "schedules/x86/sixteen_bits.h"

namespace {

using namespace Halide;

const Target target("x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_sapphirerapids-no_runtime");

// f(column, row) = the sum over `words` of b(column, word) and a(word, row).
struct Product {
    Func a{"a"}, b{"b"}, product{"product"}, stored{"stored"};
    Var x{"x"}, y{"y"};
    RDom words;

    Product(int columns, int rows, const Expr &count, int stride = 1) : words(0, count, "words") {
        a(x, y) = cast<uint32_t>(x + y), b(x, y) = cast<uint32_t>(x - y);
        product(x, y) = 0.0f;
        product(x, y) = attune::schedules::x86::vdpbf16ps(product(x, y), b(x, words), a(words * stride, y));
        stored(x, y) = product(x, y);
        a.compute_root(), b.compute_root(), product.compute_root().bound(x, 0, columns).bound(y, 0, rows);
        product.update().reorder(x, y, words);
        stored.bound(x, 0, columns).bound(y, 0, rows);
    }

    // How often each of Halide's intrinsics for tiles is called, and its own product of pairs, in the lowered code.
    std::map<std::string, int> calls(const std::vector<Argument> &arguments = {}) {
        struct Count : Internal::IRVisitor {
            std::map<std::string, int> calls;
            using Internal::IRVisitor::visit;
            void visit(const Internal::Call *op) override {
                if (Internal::starts_with(op->name, "tile_") || op->name == "dpbf16ps") calls[op->name]++;
                IRVisitor::visit(op);
            }
        } count;
        Pipeline p(stored);
        p.add_custom_lowering_pass(new attune::schedules::x86::TileProducts);
        attune::test::visit_lowered(p, arguments, count, target);
        return count.calls;
    }
};

using Calls = std::map<std::string, int>;

TEST(TileProducts, KeepSumsInRegistersAndLoadOperandsOnceForAll) {
    // Three tiles of columns by two of rows: of each step of 16 words five operands, for six products.
    EXPECT_EQ(Product(48, 32, 32).calls(), (Calls{{"tile_zero", 6}, {"tile_load", 10}, {"tile_matmul", 12}, {"tile_store", 6}}));
    EXPECT_EQ(Product(16, 16, 16).calls(), (Calls{{"tile_zero", 1}, {"tile_load", 2}, {"tile_matmul", 1}, {"tile_store", 1}}));
}

TEST(TileProducts, OfWordsKnownAtRunTimeAreALoop) {
    Param<int> count("count");
    EXPECT_EQ(Product(32, 32, count).calls({count}), (Calls{{"tile_zero", 4}, {"tile_load", 4}, {"tile_matmul", 4}, {"tile_store", 4}}));
}

TEST(TileProducts, RefuseWhatIsNoMatrixOfTiles) {
    EXPECT_THROW(Product(24, 32, 32).calls(), CompileError) << "columns";
    EXPECT_THROW(Product(32, 20, 32).calls(), CompileError) << "rows";
    EXPECT_THROW(Product(32, 32, 24).calls(), CompileError) << "words";
    EXPECT_THROW(Product(32, 32, 32, 2).calls(), CompileError) << "every second word";
}

// Vectors of products are none of single pairs.
TEST(TileProducts, LeaveVectorsAlone) {
    Product vectors(32, 32, 32);
    vectors.product.update().vectorize(vectors.x, 16);
    EXPECT_EQ(vectors.calls(), (Calls{{"dpbf16ps", 1}}));
}

} // namespace
