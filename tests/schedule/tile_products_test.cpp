// The pass that makes products of tiles. What they compute the kernels' tests show, on CPUs with AMX and by emulation.
#include "schedules/x86/tile_products.h"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/prefetch.h"
#include "dsl/words.h"
#include "lowered.h"
#include "schedules/x86/sixteen_bits.h"

namespace {

using namespace Halide;

const Target target("x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_sapphirerapids-no_runtime");

using attune::schedules::x86::vdpbf16ps;
using Calls = std::map<std::string, int>;

// How often each of Halide's intrinsics for tiles is called, its own product of pairs, and LLVM's prefetch, in the lowered code.
Calls calls_of(const Func &stored, const std::vector<Argument> &arguments = {}) {
    struct Count : Internal::IRVisitor {
        Calls calls;
        using Internal::IRVisitor::visit;
        void visit(const Internal::Call *op) override {
            for (const char *name : {"tile_", "dpbf16ps", "llvm.prefetch"})
                if (Internal::starts_with(op->name, name)) calls[op->name]++;
            IRVisitor::visit(op);
        }
    } count;
    Pipeline p(stored);
    attune::dsl::lower_prefetches(p);
    p.add_custom_lowering_pass(new attune::schedules::x86::TileProducts);
    attune::test::visit_lowered(p, arguments, count, target);
    return count.calls;
}

// f(column, row) = the sum over `words` of b(column, word) and a(word, row).
struct Product {
    Func a{"a"}, b{"b"}, product{"product"}, stored{"stored"};
    Var x{"x"}, y{"y"};
    RDom words;

    Product(int columns, int rows, const Expr &count, int stride = 1) : words(0, count, "words") {
        a(x, y) = cast<uint32_t>(x + y), b(x, y) = cast<uint32_t>(x - y);
        product(x, y) = 0.0f;
        product(x, y) = vdpbf16ps(product(x, y), b(x, words), a(words * stride, y));
        stored(x, y) = product(x, y);
        a.compute_root(), b.compute_root(), product.compute_root().bound(x, 0, columns).bound(y, 0, rows);
        product.update().reorder(x, y, words);
        stored.bound(x, 0, columns).bound(y, 0, rows);
    }

    Calls calls(const std::vector<Argument> &arguments = {}) const { return calls_of(stored, arguments); }
};

TEST(TileProducts, KeepSumsInRegistersAndLoadOperandsOnceForAll) {
    // Three tiles of columns by two of rows: of each step of 16 words five operands, for six products.
    EXPECT_EQ(Product(48, 32, 32).calls(), (Calls{{"tile_zero", 6}, {"tile_load", 10}, {"tile_matmul", 12}, {"tile_store", 6}}));
    EXPECT_EQ(Product(16, 16, 16).calls(), (Calls{{"tile_zero", 1}, {"tile_load", 2}, {"tile_matmul", 1}, {"tile_store", 1}}));
}

// What one product after the other has too is loaded once; what is wanted again later, and not kept till then, once more.
TEST(TileProducts, OfSeveralMatricesAreAddedUpOneAfterTheOther) {
    Product p(32, 32, 32);
    Func other{"other"};
    const Var &x = p.x, &y = p.y;
    const RDom &words = p.words;
    other(x, y) = cast<uint32_t>(x * y);
    other.compute_root();
    const auto sums = [&](const std::vector<std::pair<Func, Func>> &factors) {
        Func total("total"), result("result");
        total(x, y) = 0.0f;
        Expr all = total(x, y);
        for (const auto &[right, left] : factors)
            all = vdpbf16ps(all, right(x, words), left(words, y));
        total(x, y) = all;
        total.compute_root().bound(x, 0, 32).bound(y, 0, 32).update().reorder(x, y, words);
        result(x, y) = total(x, y);
        result.bound(x, 0, 32).bound(y, 0, 32);
        return calls_of(result);
    };
    EXPECT_EQ(sums({{p.b, p.a}, {other, p.a}}), (Calls{{"tile_zero", 4}, {"tile_load", 2 * 6}, {"tile_matmul", 2 * 8}, {"tile_store", 4}}));
    EXPECT_EQ(sums({{p.b, p.a}, {other, p.a}, {p.b, p.a}}),
              (Calls{{"tile_zero", 4}, {"tile_load", 2 * 8}, {"tile_matmul", 2 * 12}, {"tile_store", 4}}));
}

// Which of two matrices is multiplied is decided once for a tile, and what is loaded of either is no load of one of them; elements that lie
// elsewhere in one, or decide each by itself, are refused.
TEST(TileProducts, OfOneOfTwoMatricesLoadEitherByOneInstruction) {
    const Param<int> which("which");
    Product p(32, 32, 32);
    Func other("other");
    other(p.x, p.y) = cast<uint32_t>(p.x * p.y);
    other.compute_root();
    const auto calls = [&](const std::vector<Expr> &lefts) {
        Func total("total"), result("result");
        total(p.x, p.y) = 0.0f;
        Expr all = total(p.x, p.y);
        for (const Expr &left : lefts)
            all = vdpbf16ps(all, p.b(p.x, p.words), left);
        total(p.x, p.y) = all;
        total.compute_root().bound(p.x, 0, 32).bound(p.y, 0, 32).update().reorder(p.x, p.y, p.words);
        result(p.x, p.y) = total(p.x, p.y);
        result.bound(p.x, 0, 32).bound(p.y, 0, 32);
        return calls_of(result, {which});
    };
    const Expr a = p.a(p.words, p.y), either = select(which != 0, other(p.words, p.y), a);
    EXPECT_EQ(calls({either}), (Calls{{"tile_zero", 4}, {"tile_load", 2 * 4}, {"tile_matmul", 2 * 4}, {"tile_store", 4}}));
    EXPECT_EQ(calls({either, a}), (Calls{{"tile_zero", 4}, {"tile_load", 2 * 6}, {"tile_matmul", 2 * 8}, {"tile_store", 4}}));
    EXPECT_THROW(calls({select(which != 0, other(p.y, p.words), a)}), CompileError);
    EXPECT_THROW(calls({select(p.y < which, other(p.words, p.y), a)}), CompileError);
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

// f(column, block, row), of words in two loops, the second `between` words on, those of a where they lie. With each word something is asked
// for, by "block", or "row", or for all of them.
struct Parts {
    Func b{"b"}, product{"product"}, stored{"stored"};
    Var x{"x"}, block{"block"}, y{"y"}, word{"word"};
    RDom words{0, 8, 0, 2, "words"};
    ImageParam keys{BFloat(16), 2, "keys"}, next{UInt(32), 2, "next"};

    Parts(int blocks, int between, const std::string &asked) {
        const Expr w = words.x + between * words.y;
        b(x, block, word) = cast<uint32_t>(x - word + block);
        product(x, block, y) = 0.0f;
        const Expr line = asked == "block" ? Expr(block) : asked == "row" ? Expr(y) : Expr(0);
        const Expr now = attune::dsl::with_prefetch(b(x, block, w), next(64 * w, line));
        product(x, block, y) = vdpbf16ps(product(x, block, y), now, attune::dsl::words_from(keys(2 * w, y)));
        stored(x, block, y) = product(x, block, y);
        b.compute_root(), product.compute_root().bound(x, 0, 16).bound(block, 0, blocks).bound(y, 0, 16);
        product.update().reorder({x, y, block, words.x, words.y});
        stored.bound(x, 0, 16).bound(block, 0, blocks).bound(y, 0, 16);
    }
    Calls calls() const { return calls_of(stored, {keys, next}); }
};

// A tile of a for four of b; and of each column's tile, or once, what is asked for with the words of either loop.
TEST(TileProducts, TakeBlocksOfColumnsAndWordsInTwoLoops) {
    Calls four{{"tile_zero", 4}, {"tile_load", 5}, {"tile_matmul", 4}, {"tile_store", 4}, {"llvm.prefetch.p0", 8}};
    EXPECT_EQ(Parts(4, 8, "block").calls(), four);
    four["llvm.prefetch.p0"] = 2;
    EXPECT_EQ(Parts(4, 8, "all").calls(), four);
}

TEST(TileProducts, RefuseWordsThatDontGoOnAndWhatIsAskedForByRow) {
    EXPECT_THROW(Parts(4, 9, "block").calls(), CompileError);
    EXPECT_THROW(Parts(4, 8, "row").calls(), CompileError);
}

// Vectors of products are none of single pairs.
TEST(TileProducts, LeaveVectorsAlone) {
    Product vectors(32, 32, 32);
    vectors.product.update().vectorize(vectors.x, 16);
    EXPECT_EQ(vectors.calls(), (Calls{{"dpbf16ps", 1}}));
}

} // namespace
