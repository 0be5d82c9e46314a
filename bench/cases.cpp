#include "bench/cases.h"

#include "bench/mask_rows.h"

namespace attune::bench {
namespace {

Case causal(Case c) {
    c.mask = "causal";
    c.counts_half = true;
    return c;
}

} // namespace

double Case::kv_bytes() const { return 4.0 * double(batch * kv_heads) * double(keys) * double(head_dim + value_dim); }

double Case::tensor_bytes() const {
    return kv_bytes() + 4.0 * double(batch * query_heads) * double(queries) * double(head_dim + value_dim);
}

const std::vector<Case> &named_cases() {
    static const std::vector<Case> cases = {
        // name, B, Hq, Hkv, N, M, D, Dv
        {"short_d64", 8, 8, 8, 128, 128, 64, 64},
        {"odd_d80", 2, 6, 6, 77, 333, 80, 80},
        {"prefill_d64", 1, 8, 8, 1024, 1024, 64, 64},
        {"prefill_d128", 1, 4, 4, 4096, 4096, 128, 128},
        causal({"causal_d64", 1, 8, 8, 1024, 1024, 64, 64}),
        causal({"causal_d128", 1, 4, 4, 4096, 4096, 128, 128}),
        causal({"causal_gqa", 1, 16, 4, 2048, 2048, 128, 128}),
        {"decode_mha", 1, 32, 32, 1, 4096, 128, 128},
        {"decode_gqa", 1, 32, 8, 1, 4096, 128, 128},
        {"decode_batch", 16, 8, 2, 1, 2048, 128, 128},
    };
    return cases;
}

std::optional<Case> find_case(const std::string &name) {
    for (const Case &c : named_cases())
        if (c.name == name) return c;
    return std::nullopt;
}

double attended_pairs(const Case &c) {
    const MaskRows rows(c.mask, c.queries, c.keys);
    double pairs = 0;
    for (int64_t i = 0; i < c.queries; ++i)
        for (const Interval &keys : rows.keys(i))
            pairs += double(keys.end - keys.begin);
    return pairs;
}

double useful_flops(const Case &c) {
    const double pairs = c.counts_half ? 0.5 * double(c.queries) * double(c.keys) : attended_pairs(c);
    return 2.0 * double(c.batch * c.query_heads) * pairs * double(c.head_dim + c.value_dim);
}

} // namespace attune::bench
