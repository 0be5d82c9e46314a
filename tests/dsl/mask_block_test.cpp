// What each mask says of a block of queries x keys: never wrong, and exact for the masks that skipping is for.
#include <algorithm>

#include <gtest/gtest.h>

#include "mask_cases.h"

namespace attune::test::mask_block_test {
namespace {

using Halide::Buffer;
using Halide::Expr;
using Halide::Func;
using Halide::Var;

constexpr int rows = 4, queries = 22, panel = 6, keys = 27, least_offset = -9, offsets = 24;
constexpr int tiles = (queries + rows - 1) / rows, panels = (keys + panel - 1) / panel;

/** Queries of a tile and keys of a panel, as dsl::attention asks of them. */
Halide::Internal::Interval block_of(const Var &index, int size, int end) { return {index * size, min(index * size + size, end) - 1}; }

class MaskBlock : public ::testing::TestWithParam<MaskCase> {
protected:
    /** Whether some, and all, cells of the block attend. */
    std::pair<bool, bool> some_and_all(int tile, int first_key, int last_key, int offset) const {
        bool some = false, all = true;
        for (int i = tile * rows; i < std::min((tile + 1) * rows, queries); i++)
            for (int j = first_key; j <= last_key; j++) {
                const bool allows = GetParam().allows(i, j, offset);
                some |= allows, all &= allows;
            }
        return {some, all};
    }
};

std::string name(const ::testing::TestParamInfo<MaskCase> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Masks, MaskBlock, ::testing::ValuesIn(mask_cases()), name);

TEST_P(MaskBlock, AllowsAllIsNeverWrong) {
    Var tile("tile"), of_keys("of_keys"), o("o");
    Func all("all");
    all(of_keys, tile, o) = Halide::cast<uint8_t>(
        GetParam().mask(o + least_offset).allows_all({0, 0, block_of(tile, rows, queries), block_of(of_keys, panel, keys)}));
    const Buffer<uint8_t> got = all.realize({panels, tiles, offsets});
    got.for_each_element([&](int p, int t, int offset) {
        const int last = std::min((p + 1) * panel, keys) - 1;
        const bool truth = some_and_all(t, p * panel, last, offset + least_offset).second, said = got(p, t, offset) != 0;
        EXPECT_TRUE(GetParam().exact_blocks ? said == truth : truth || !said)
            << "tile " << t << ", panel " << p << ", offset " << offset + least_offset << ": said " << said;
    });
}

TEST_P(MaskBlock, PossibleKeysLosesNone) {
    Var tile("tile"), o("o"), end("end");
    Func ends("ends");
    const Halide::Internal::Interval possible =
        GetParam().mask(o + least_offset).possible_keys({0, 0, block_of(tile, rows, queries), {Expr(0), Expr(keys - 1)}});
    ends(end, tile, o) = select(end == 0, possible.min, possible.max);
    const Buffer<int32_t> got = ends.realize({2, tiles, offsets});
    for (int t = 0; t < tiles; t++)
        for (int offset = 0; offset < offsets; offset++) {
            int first = keys, last = -1;
            for (int j = 0; j < keys; j++)
                if (some_and_all(t, j, j, offset + least_offset).first) first = std::min(first, j), last = j;
            const int least = got(0, t, offset), most = got(1, t, offset);
            const bool narrowest = last < 0 ? most < least : least == first && most == last;
            const bool loses_none = last < 0 || (least <= first && last <= most);
            EXPECT_TRUE(GetParam().exact_keys ? narrowest : loses_none) << "tile " << t << ", offset " << offset + least_offset << ": "
                                                                        << least << " to " << most << " for " << first << " to " << last;
        }
}

/** Both ends of each run, in the order (end, run, tile, offset); of a second one that isn't there, none. */
Buffer<int32_t> runs_of(const std::function<dsl::Mask(Expr)> &mask) {
    Var tile("tile"), o("o"), end("end"), run("run");
    Func ends("ends");
    auto runs = mask(o + least_offset).possible_key_runs({0, 0, block_of(tile, rows, queries), {Expr(0), Expr(keys - 1)}});
    if (runs.size() == 1) runs.push_back({Expr(0), Expr(-1)});
    const Expr first = select(end == 0, runs[0].min, runs[0].max), second = select(end == 0, runs[1].min, runs[1].max);
    ends(end, run, tile, o) = select(run == 0, first, second);
    return ends.realize({2, 2, tiles, offsets});
}

bool is_in_runs(const Buffer<int32_t> &runs, int tile, int offset, int key) {
    const auto within = [&](int run) { return runs(0, run, tile, offset) <= key && key <= runs(1, run, tile, offset); };
    return within(0) || within(1);
}

TEST_P(MaskBlock, PossibleKeyRunsLoseNone) {
    const Buffer<int32_t> runs = runs_of(GetParam().mask);
    for (int t = 0; t < tiles; t++)
        for (int offset = 0; offset < offsets; offset++)
            for (int j = 0; j < keys; j++) {
                const bool some = some_and_all(t, j, j, offset + least_offset).first;
                EXPECT_TRUE(is_in_runs(runs, t, offset, j) || !some)
                    << "tile " << t << ", offset " << offset + least_offset << ", key " << j;
            }
}

/** What lies between the two parts of a choice is in neither run, wherever the `|` stands. */
TEST(MaskBlockOfAChoice, RunsLeaveOutWhatLiesBetween) {
    using namespace dsl;
    const auto allows = [](int i, int j, int o) { return j <= i + o && (j >= i + o - 3 || j < 2); };
    for (const auto &mask : std::vector<std::function<Mask(Expr)>>{
             [](Expr o) { return causal(o) & (window(3, -1, o) | prefix(2)); },
             [](Expr o) { return causal(o) & (!(!window(3, -1, o) & !prefix(2))); },
             [](Expr o) { return (prefix(2) & causal(o)) | window(3, 0, o); },
         }) {
        const Buffer<int32_t> runs = runs_of(mask);
        for (int t = 0; t < tiles; t++)
            for (int offset = 0; offset < offsets; offset++)
                for (int j = 0; j < keys; j++) {
                    bool some = false;
                    for (int i = t * rows; i < std::min((t + 1) * rows, queries); i++)
                        some |= allows(i, j, offset + least_offset);
                    EXPECT_EQ(is_in_runs(runs, t, offset, j), some)
                        << "tile " << t << ", offset " << offset + least_offset << ", key " << j;
                }
    }
}

// Parameters of a compiled-in mask are known at run time only: what is skipped must be the same.
TEST(MaskBlockAtRunTime, WindowOfRunTimeSizeIsAsNarrowAsACompiledOne) {
    Var tile("tile"), left("left"), right("right"), end("end");
    Func ends("ends");
    const Halide::Internal::Interval possible =
        dsl::window(left - 1, right - 1, 3).possible_keys({0, 0, block_of(tile, rows, queries), {Expr(0), Expr(keys - 1)}});
    ends(end, tile, left, right) = select(end == 0, possible.min, possible.max);
    const Buffer<int32_t> got = ends.realize({2, tiles, 5, 5});
    for (int t = 0; t < tiles; t++)
        for (int l = -1; l < 4; l++)
            for (int r = -1; r < 4; r++) {
                const int first_query = t * rows, last_query = std::min(first_query + rows, queries) - 1;
                const int first = l < 0 ? 0 : std::max(first_query + 3 - l, 0),
                          last = r < 0 ? keys - 1 : std::min(last_query + 3 + r, keys - 1);
                EXPECT_EQ(got(0, t, l + 1, r + 1), first) << "tile " << t << ", window(" << l << ", " << r << ")";
                EXPECT_EQ(got(1, t, l + 1, r + 1), last) << "tile " << t << ", window(" << l << ", " << r << ")";
            }
}

} // namespace
} // namespace attune::test::mask_block_test
