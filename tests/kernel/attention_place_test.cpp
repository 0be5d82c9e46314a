// Keys and values where the caller has them: read in place where they lie one after the other, copied where they don't.
#include <string>
#include <vector>

#include "attention_test.h"
#include "fenced.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

class AttentionPlaces : public AttentionTest {
protected:
    attune_type type() const { return kernel().dtype; }

    struct Run {
        TypedTensor out, lse;
    };
    Run run(const attune_tensor &q, const attune_tensor &k, const attune_tensor &v, const std::string &mask) {
        AttentionDesc desc;
        desc.dtype = type(), desc.head_dim = q.extent[3], desc.value_dim = v.extent[3], desc.mask = mask, desc.schedule = kernel().schedule;
        const Result<AttentionPlan> plan = AttentionPlan::create(desc);
        EXPECT_TRUE(plan.ok()) << plan.status().message;
        const Extents rows{q.extent[0], q.extent[1], q.extent[2]};
        Run run{TypedTensor(type(), {rows[0], rows[1], rows[2], v.extent[3]}), TypedTensor(ATTUNE_F32, rows)};
        const attune_tensor lse = run.lse.view();
        AttentionArgs args(q, k, v, run.out.view());
        args.lse = &lse;
        const Status status = plan->run(args);
        EXPECT_TRUE(status.ok()) << status.message;
        return run;
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, AttentionPlaces, ::testing::ValuesIn(kernels_of_all_types("attention")), kernel_name);

/** A tensor's numbers with a head's rows one after the other, or with the heads of a token side by side. */
TypedTensor laid_out(attune_type type, const Tensor<float> &x, bool rows_apart) {
    if (!rows_apart) return TypedTensor(type, x);
    TypedTensor other(type, x.extent, {0, 2, 1, 3});
    for_each_index(x.extent, [&](const Extents &at) { other.set(at, x(at[0], at[1], at[2], at[3])); });
    return other;
}

/** The same one after the other, but from one element behind a multiple of 16 bytes. */
struct Shifted {
    Shifted(attune_type type, const Tensor<float> &x) {
        const TypedTensor numbers(type, x);
        const size_t element = attune_type_size(type);
        bytes.resize(element);
        bytes.insert(bytes.end(), numbers.bytes().begin(), numbers.bytes().end());
        view = numbers.view();
        view.data = bytes.data() + element + (static_cast<const uint8_t *>(view.data) - numbers.bytes().data());
    }
    std::vector<uint8_t> bytes;
    attune_tensor view;
};

// Wherever panels and blocks begin and end, with heads in groups, several batch items, and values that aren't finite.
TEST_P(AttentionPlaces, GiveTheSameBits) {
    for (const int64_t dim : {64, 80, 20})
        for (const int64_t keys : {int64_t(1), int64_t(11), int64_t(12), int64_t(23), int64_t(49), large()})
            for (const char *mask : {"none", "causal(bottom_right)", "window(9, 2, bottom_right)", "!prefix(5)"}) {
                SCOPED_TRACE(std::to_string(dim) + " channels, " + std::to_string(keys) + " keys, " + mask);
                const AttentionShape s{2, 4, 2, 35, keys, head_dim_or(kernel(), dim), value_dim_or(kernel(), dim)};
                const AttentionProblem p = normal_problem(s, random);
                p.v(1, 1, keys / 2, 3 % s.value_dim) = NAN, p.v(0, 0, keys - 1, 0) = INFINITY;
                const TypedTensor q = laid_out(type(), p.q, false);
                const auto with = [&](bool keys_apart, bool values_apart) {
                    return run(q.view(), laid_out(type(), p.k, keys_apart).view(), laid_out(type(), p.v, values_apart).view(), mask);
                };
                const Run in_place = with(false, false);
                for (const auto &[keys_apart, values_apart] : {std::pair<bool, bool>{true, false}, {false, true}, {true, true}}) {
                    const Run copied = with(keys_apart, values_apart);
                    EXPECT_TRUE(copied.out.bytes() == in_place.out.bytes() && copied.lse.bytes() == in_place.lse.bytes())
                        << keys_apart << values_apart;
                }
                const Shifted k(type(), p.k), v(type(), p.v);
                const Run from_there = run(q.view(), k.view, v.view, mask);
                EXPECT_TRUE(from_there.out.bytes() == in_place.out.bytes() && from_there.lse.bytes() == in_place.lse.bytes());
            }
}

// A panel of keys may go past the last one: not so what is read.
TEST_P(AttentionPlaces, EndWithTheirMemory) {
    constexpr int64_t page = 4096 / sizeof(float);
    const int64_t dim = head_dim_or(kernel(), 80), size = static_cast<int64_t>(attune_type_size(type()));
    for (const int64_t keys : {1, 8, 11, 12, 13, 20, 50}) {
        const int64_t end = (keys * dim * size / 4 + page - 1) / page * page, first = end - keys * dim * size / 4;
        const Fenced k(end + page, 0, end), v(end + page, 0, end);
        TypedTensor q(type(), {1, 2, 37, dim});
        for_each_index(q.extents(), [&](const Extents &at) { q.set(at, double(at[2] % 3) - 1); });
        const TensorView values(v.data() + first, type(), {1, 1, keys, dim});
        const Run got = run(q.view(), TensorView(k.data() + first, type(), {1, 1, keys, dim}), values, "none");
        // All keys are alike, and their values as Fenced fills them: by twos where they have 16 bits.
        const auto *halves = reinterpret_cast<const uint16_t *>(v.data() + first);
        for_each_index(got.out.extents(), [&](const Extents &at) {
            const double value = size == 4 ? 0.5 : half_value(type(), halves[at[3]]);
            EXPECT_NEAR(got.out.get(at), value, 1e-6) << at[2] << ", " << at[3] << " of " << keys;
        });
    }
}

} // namespace
} // namespace attune::test
