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

double Case::kv_bytes() const {
    return double(attune_type_size(dtype)) * double(batch * kv_heads) * double(keys) * double(head_dim + value_dim);
}

double Case::tensor_bytes() const {
    return kv_bytes() + double(attune_type_size(dtype)) * double(batch * query_heads) * double(queries) * double(head_dim + value_dim);
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
        {"chunk_gqa", 1, 32, 8, 64, 4096, 128, 128}, // of a long prompt
        {"draft_gqa", 1, 32, 8, 4, 4096, 128, 128},  // as many tokens as speculative decoding checks at once
        {"decode_mha", 1, 32, 32, 1, 4096, 128, 128},
        {"decode_gqa", 1, 32, 8, 1, 4096, 128, 128},
        {"decode_batch", 16, 8, 2, 1, 2048, 128, 128},
    };
    return cases;
}

const std::vector<Case> &mask_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<Case> all;
        const auto add = [&](const char *name, const char *mask) -> Case & {
            Case c{name, 1, 4, 4, 4096, 4096, 64, 64};
            c.mask = mask;
            return all.emplace_back(c);
        };
        add("mask_none", "none");
        add("mask_causal", "causal");
        add("mask_window_256", "window(256, 0)");
        add("mask_prefix", "prefix(1024)");
        add("mask_causal_prefix", "causal | prefix(1024)");
        add("mask_window_prefix", "causal & (window(1024, 0) | prefix(64))");
        add("mask_documents", "documents").documents = 8;
        add("mask_causal_documents", "causal & documents").documents = 8;
        add("mask_causal_documents_of_1024", "causal & documents").documents = 4;
        add("mask_lengths", "none").key_length = 3001;
        add("mask_causal_lengths", "causal").key_length = 3001;
        add("mask_tensor", "none").tensor = true;
        add("mask_causal_tensor", "causal").tensor = true;
        return all;
    }();
    return cases;
}

Case unmasked_case(Case c) {
    c.mask = "none", c.counts_half = false, c.documents = c.key_length = 0, c.tensor = false;
    return c;
}

std::optional<Case> find_case(const std::string &name) {
    for (const std::vector<Case> *cases : {&named_cases(), &mask_cases()})
        for (const Case &c : *cases)
            if (c.name == name) return c;
    return std::nullopt;
}

bool tensor_allows(int64_t query, int64_t key) {
    // Any mixing of the two does: splitmix64's.
    auto x = static_cast<uint64_t>(query) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(key);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x >> 31 & 1) != 0;
}

double attended_pairs(const Case &c) {
    Case structure = c;
    structure.tensor = false;
    const MaskRows rows(structure);
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
