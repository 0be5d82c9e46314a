// Masks beside plain predicates that mean the same.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dsl/axes.h"
#include "dsl/document_ranges.h"
#include "dsl/mask.h"

namespace attune::test {

struct MaskCase {
    std::string name;
    std::function<dsl::Mask(Halide::Expr offset)> mask;
    std::function<bool(int i, int j, int offset)> allows;
    bool exact_blocks = true; // allows_all must say all that is true
    bool exact_keys = true;   // possible_keys must be as narrow as can be
};

/** Documents whose ids are given by formulas, with the ranges of tiles of `rows` of so many queries and keys. */
inline dsl::Mask ranged_documents(const std::function<Halide::Expr(Halide::Expr)> &of_query,
                                  const std::function<Halide::Expr(Halide::Expr)> &of_key, int rows, int queries, int keys) {
    using namespace dsl::axes;
    Halide::Func q("query_id"), k("key_id"), of_tile("of_tile");
    Halide::Var which("which");
    q(token, batch) = of_query(token), k(token, batch) = of_key(token);
    const Halide::Func ranges = dsl::document_ranges({q, k, queries, keys, rows}, 8).result;
    of_tile(which, token, batch) = ranges(which, token / rows, batch);
    return dsl::documents(q, k, of_tile);
}

/** Every constructor that needs no data, documents with ranges, `! & |` of them, and predicates of a user's. */
inline std::vector<MaskCase> mask_cases() {
    using namespace dsl;
    using Halide::Expr;
    const Mask every_third([](const Cell &c) { return (c.query - c.key) % 3 == 0; });
    const Mask fives([](const Cell &c) { return c.query / 5 == c.key / 5; });
    auto divides = [](int step, int distance) { return distance % step == 0; };
    const auto ranged = [](auto of_query, auto of_key) { return ranged_documents(of_query, of_key, 4, 22, 27); };
    const Mask in_order = ranged([](Expr i) { return i / 6 - 1; }, [](Expr j) { return j / 5 - 2; });
    const Mask mixed = ranged([](Expr i) { return i % 3 * 4; }, [](Expr j) { return j / 4 % 3 * 2; });
    auto in_order_attends = [](int i, int j) { return i / 6 - 1 == j / 5 - 2; };
    return {
        {"causal", [](Expr o) { return causal(o); }, [](int i, int j, int o) { return j <= i + o; }},
        {"window", [](Expr o) { return window(3, 2, o); }, [](int i, int j, int o) { return i + o - 3 <= j && j <= i + o + 2; }},
        {"window_by_choice", [](Expr o) { return window(3, 2, select(o % 2 == 0, o, o + 1)); },
         [](int i, int j, int o) { return i + o + (o & 1) - 3 <= j && j <= i + o + (o & 1) + 2; }},
        {"window_of_itself", [](Expr o) { return window(0, 0, o); }, [](int i, int j, int o) { return j == i + o; }},
        {"window_left", [](Expr o) { return window(4, -1, o); }, [](int i, int j, int o) { return i + o - 4 <= j; }},
        {"window_right", [](Expr o) { return window(-1, 4, o); }, [](int i, int j, int o) { return j <= i + o + 4; }},
        {"window_everywhere", [](Expr o) { return window(-1, -1, o); }, [](int, int, int) { return true; }},
        {"prefix", [](Expr) { return prefix(7); }, [](int, int j, int) { return j < 7; }},
        {"prefix_of_none", [](Expr) { return prefix(0); }, [](int, int, int) { return false; }},
        {"not_causal", [](Expr o) { return !causal(o); }, [](int i, int j, int o) { return j > i + o; }},
        {"not_prefix", [](Expr) { return !prefix(7); }, [](int, int j, int) { return j >= 7; }},
        {"not_not_causal", [](Expr o) { return !!causal(o); }, [](int i, int j, int o) { return j <= i + o; }},
        {"causal_and_window", [](Expr o) { return causal(o) & window(5, 1, o); },
         [](int i, int j, int o) { return j <= i + o && j >= i + o - 5; }},
        {"causal_and_prefix", [](Expr o) { return causal(o) & prefix(9); }, [](int i, int j, int o) { return j <= i + o && j < 9; }},
        {"causal_or_prefix", [](Expr o) { return causal(o) | prefix(9); }, [](int i, int j, int o) { return j <= i + o || j < 9; }},
        {"not_window", [](Expr o) { return !window(3, 2, o); }, [](int i, int j, int o) { return j < i + o - 3 || j > i + o + 2; }, true,
         false},
        {"window_or_prefix", [](Expr o) { return window(3, 0, o) | prefix(4); },
         [](int i, int j, int o) { return (i + o - 3 <= j && j <= i + o) || j < 4; }, false, false},
        {"causal_and_window_or_prefix", [](Expr o) { return (causal(o) & window(5, 1, o)) | prefix(4); },
         [](int i, int j, int o) { return (j <= i + o && j >= i + o - 5) || j < 4; }, false, false},
        {"every_third", [=](Expr o) { return causal(o) & every_third; },
         [=](int i, int j, int o) { return j <= i + o && divides(3, i - j); }, false, false},
        {"dilated", [](Expr o) { return dilated(3, o); }, [=](int i, int j, int o) { return divides(3, i + o - j); }, false, false},
        {"dilated_by_one", [](Expr o) { return dilated(1, o); }, [](int, int, int) { return true; }},
        {"strided", [](Expr) { return strided(4, 2); }, [](int, int j, int) { return j % 4 < 2; }, false, false},
        {"strided_causal", [](Expr o) { return causal(o) & strided(5, 1); }, [](int i, int j, int o) { return j <= i + o && j % 5 == 0; },
         false, false},
        {"documents_in_order", [=](Expr) { return in_order; }, [=](int i, int j, int) { return in_order_attends(i, j); }},
        {"documents_and_causal", [=](Expr o) { return in_order & causal(o); },
         [=](int i, int j, int o) { return in_order_attends(i, j) && j <= i + o; }, true, false},
        {"not_documents", [=](Expr) { return !in_order; }, [=](int i, int j, int) { return !in_order_attends(i, j); }, true, false},
        {"documents_in_any_order", [=](Expr) { return mixed; }, [](int i, int j, int) { return i % 3 * 4 == j / 4 % 3 * 2; }, false, false},
        {"documents_or_prefix", [=](Expr) { return in_order | prefix(4); },
         [=](int i, int j, int) { return in_order_attends(i, j) || j < 4; }, false, false},
        {"fives", [=](Expr) { return fives; }, [](int i, int j, int) { return i / 5 == j / 5; }, false, false},
        {"strided_or_local", [](Expr o) { return causal(o) & Mask([](const Cell &c) { return c.key % 4 == 0 || c.query - c.key < 3; }); },
         [](int i, int j, int o) { return j <= i + o && (j % 4 == 0 || i - j < 3); }, false, false},
    };
}

} // namespace attune::test
