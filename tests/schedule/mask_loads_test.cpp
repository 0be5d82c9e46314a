// The pass that loads neighbours under a mask.
#include "schedules/lowered/mask_loads.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "flash.h"
#include "lowered.h"

namespace {

using namespace Halide;

// Rows of `width` numbers, each filled up with zeros to whole vectors.
struct Padded {
    static constexpr int lanes = 8, vectors = 3, rows = 5;
    Param<int> width{"width"};
    ImageParam source;
    Func padded{"padded"};
    Var x{"x"}, y{"y"};

    /** `step`: which number of a row is an element's, if not its own. */
    explicit Padded(const Type &type, int step = 1) : source(type, 2, "source") {
        padded(x, y) = select(x < width, cast<float>(source(min(x, width - 1) * step, y)), 0.0f);
        padded.vectorize(x, lanes);
        padded.output_buffer().dim(0).set_bounds(0, vectors * lanes);
    }

    Pipeline pipeline(int narrowest) {
        Pipeline p(padded);
        p.add_custom_lowering_pass(new attune::schedules::MaskLoads(narrowest));
        return p;
    }
};

// Vectors that are loaded of a buffer: under a mask, and each element by itself.
struct LoadsOf : Internal::IRVisitor {
    explicit LoadsOf(std::string name) : name(std::move(name)) {}
    std::string name;
    int masked = 0, apart = 0;

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Load *op) override {
        IRVisitor::visit(op);
        if (op->name != name || op->type.is_scalar()) return;
        const auto *ramp = op->index.as<Internal::Ramp>();
        apart += !ramp;
        masked += ramp && Internal::is_const_one(ramp->stride) && !Internal::is_const_one(op->predicate);
    }
};

LoadsOf loads_of(Padded &padded, int narrowest) {
    LoadsOf found("source");
    attune::test::visit_lowered(padded.pipeline(narrowest), {padded.source, padded.width}, found);
    return found;
}

TEST(MaskLoads, NeighboursAreLoadedAtOnce) {
    for (const Type &type : {Type(Float(32)), Type(UInt(16)), Type(Int(8))}) {
        Padded apart(type), at_once(type);
        const LoadsOf before = loads_of(apart, 64), after = loads_of(at_once, type.bits());
        EXPECT_GE(before.apart, 1) << type;
        EXPECT_EQ(before.masked, 0) << type;
        EXPECT_EQ(after.apart, 0) << type;
        EXPECT_EQ(after.masked, before.apart) << type;
    }
}

// Whole vectors, parts of one, and none of the last.
TEST(MaskLoads, ResultsStayTheSame) {
    for (int width : {1, 7, 8, 13, 24}) {
        Padded padded{Float(32)};
        Buffer<float> source(width, Padded::rows);
        source.for_each_element([&](int x, int y) { source(x, y) = float(x + 100 * y + 1); });
        padded.source.set(source), padded.width.set(width);
        const Buffer<float> got = padded.pipeline(32).realize({Padded::vectors * Padded::lanes, Padded::rows});
        for (int y = 0; y < Padded::rows; y++)
            for (int x = 0; x < Padded::vectors * Padded::lanes; x++)
                ASSERT_EQ(got(x, y), x < width ? source(x, y) : 0.0f) << "element " << x << " of row " << y << ", " << width << " wide";
    }
}

TEST(MaskLoads, ElementsThatAreNoNeighboursStayApart) {
    Padded every_other{Float(32), 2};
    const LoadsOf found = loads_of(every_other, 32);
    EXPECT_GE(found.apart, 1);
    EXPECT_EQ(found.masked, 0);
}

TEST(MaskLoads, NarrowElementsStayApart) {
    Padded narrow{UInt(16)};
    EXPECT_EQ(loads_of(narrow, 32).masked, 0);
}

// Where D isn't compiled in, the last channels of a value fill a vector with zeros.
TEST(MaskLoads, FlashLoadsTheLastChannelsAtOnce) {
    using namespace attune::test;
    for (const Target &target : runnable_targets()) {
        Flash flash(0, std::nullopt, false, target);
        LoadsOf values("value");
        visit_lowered(flash.jit.pipeline, flash.jit.pipeline.infer_arguments(), values, target);
        EXPECT_EQ(values.masked > 0, flash.machine.fused) << name_of_target(target);
        EXPECT_EQ(values.apart == 0, flash.machine.fused) << name_of_target(target);
    }
}

} // namespace
