#include "dsl/mask.h"

#include <map>

#include "dsl/document_ranges.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::Expr;
using Halide::Internal::equal;
using Halide::Internal::expr_uses_var;
using Halide::Internal::Interval;
using Halide::Internal::Scope;
using Halide::Internal::simplify;
using Halide::Internal::substitute;
using Halide::Internal::Variable;

namespace {

// Stand-ins for the query and the key while an expression is analysed.
const char *const query_name = "attune.query";
const char *const key_name = "attune.key";

enum class Asked { any, every };

Cell symbolic_cell(const CellBlock &block, Asked asked) {
    return {block.batch, block.head,           Variable::make(Halide::Int(32), query_name), Variable::make(Halide::Int(32), key_name),
            &block,      asked == Asked::every};
}

/** Stands names in for integers that are the same for the whole block, but that the solver can't look into and would give up on: choices
 * and calls, such as a batch item's offset. */
class NameConstants : public Halide::Internal::IRMutator {
public:
    Expr named(const Expr &condition) { return simplify(mutate(condition)); }
    Expr restored(const Expr &result) const { return simplify(substitute(values, result)); }

private:
    using IRMutator::visit;
    Expr visit(const Halide::Internal::Select *op) override { return name(op); }
    Expr visit(const Halide::Internal::Call *op) override { return name(op); }

    template <typename Node> Expr name(const Node *op) {
        const bool moves = expr_uses_var(op, query_name) || expr_uses_var(op, key_name);
        if (moves || op->type != Halide::Int(32)) return IRMutator::visit(op);
        for (const auto &known : values)
            if (equal(known.second, op)) return Variable::make(op->type, known.first);
        const std::string fresh = Halide::Internal::unique_name("attune.constant");
        values[fresh] = op;
        return Variable::make(op->type, fresh);
    }

    std::map<std::string, Expr> values;
};

/** The keys of the block that some query may attend, by this condition on the symbolic cell. */
Interval possible_keys_of(const Expr &allowed, const CellBlock &block) {
    Scope<Interval> scope;
    scope.push(query_name, block.queries);
    // A key is out for the whole block iff the mask's negation holds for every query of it.
    NameConstants constants;
    Expr out = Halide::Internal::and_condition_over_domain(constants.named(simplify(!allowed)), scope);
    Interval keys = Halide::Internal::solve_for_outer_interval(simplify(!out), key_name);
    Interval clipped = block.keys;
    if (keys.has_lower_bound()) clipped.min = max(clipped.min, constants.restored(keys.min));
    if (keys.has_upper_bound()) clipped.max = min(clipped.max, constants.restored(keys.max));
    return clipped;
}

constexpr size_t most_alternatives = 16; // beyond these a part of the condition is left as it is

/** Conditions one of which holds iff this one does (its disjunctive form). */
std::vector<Expr> alternatives(const Expr &condition, bool negated = false) {
    using namespace Halide::Internal;
    if (const Not *op = condition.as<Not>()) return alternatives(op->a, !negated);
    const And *both = condition.as<And>();
    const Or *either = condition.as<Or>();
    const std::vector<Expr> as_it_is = {negated ? !condition : condition};
    if (!both && !either) return as_it_is;
    const std::vector<Expr> a = alternatives(both ? both->a : either->a, negated), b = alternatives(both ? both->b : either->b, negated);
    const bool is_choice = (either != nullptr) != negated;
    if ((is_choice ? a.size() + b.size() : a.size() * b.size()) > most_alternatives) return as_it_is;
    std::vector<Expr> all = a;
    if (is_choice) {
        all.insert(all.end(), b.begin(), b.end());
        return all;
    }
    all.clear();
    for (const Expr &first : a)
        for (const Expr &second : b)
            all.push_back(first && second);
    return all;
}

Interval hull(const Interval &a, const Interval &b) { return {min(a.min, b.min), max(a.max, b.max)}; }

} // namespace

Expr Mask::allows_all(const CellBlock &block) const {
    Scope<Interval> scope;
    scope.push(query_name, block.queries);
    scope.push(key_name, block.keys);
    NameConstants constants;
    return constants.restored(
        Halide::Internal::and_condition_over_domain(constants.named(simplify(allows(symbolic_cell(block, Asked::every)))), scope));
}

Expr Mask::allows_none(const CellBlock &block) const { return (!*this).allows_all(block); }

Interval Mask::possible_keys(const CellBlock &block) const { return possible_keys_of(allows(symbolic_cell(block, Asked::any)), block); }

std::vector<Interval> Mask::possible_key_runs(const CellBlock &block) const {
    const std::vector<Expr> cases = alternatives(simplify(allows(symbolic_cell(block, Asked::any))));
    std::vector<Interval> runs;
    for (const Expr &allowed : cases) {
        const Interval keys = possible_keys_of(allowed, block);
        if (runs.size() == 2)
            runs[1] = hull(runs[1], keys);
        else
            runs.push_back(keys);
    }
    return runs;
}

Mask operator!(const Mask &a) {
    return Mask([a](const Cell &cell) {
        Cell opposite = cell;
        opposite.every = !cell.every;
        return !a.allows(opposite);
    });
}

Mask operator&(const Mask &a, const Mask &b) {
    return Mask([a, b](const Cell &cell) { return a.allows(cell) && b.allows(cell); });
}

Mask operator|(const Mask &a, const Mask &b) {
    return Mask([a, b](const Cell &cell) { return a.allows(cell) || b.allows(cell); });
}

Mask causal(const Expr &offset) {
    return Mask([offset](const Cell &cell) { return cell.key <= cell.query + offset; });
}

Mask window(const Expr &left, const Expr &right, const Expr &offset) {
    return Mask([left, right, offset](const Cell &cell) {
        Expr position = cell.query + offset;
        // A limit that is far away (text::compiled_reach), rather than none: so interval analysis sees through it when it is known only at
        // run time.
        const int far = 1 << 30;
        return position - select(left < 0, far, left) <= cell.key && cell.key <= position + select(right < 0, far, right);
    });
}

Mask prefix(const Expr &length) {
    return Mask([length](const Cell &cell) { return cell.key < length; });
}

Mask dilated(const Expr &step, const Expr &offset) {
    return Mask([step, offset](const Cell &cell) {
        // The offset may be as far away as 32 bits reach; its remainder means the same. % is floor mod, never negative.
        return (cell.query - cell.key + offset % step) % step == 0;
    });
}

Mask strided(const Expr &step, const Expr &width) {
    return Mask([step, width](const Cell &cell) { return cell.key % step < width; });
}

Mask blocks(const Halide::Func &map, const Expr &query_block, const Expr &key_block) {
    return Mask([map, query_block, key_block](const Cell &cell) {
        return map(cell.key / key_block, cell.query / query_block, cell.head, cell.batch) != 0;
    });
}

Mask documents(const Halide::Func &query_documents, const Halide::Func &key_documents) {
    return Mask([query_documents, key_documents](const Cell &cell) {
        return query_documents(cell.query, cell.batch) == key_documents(cell.key, cell.batch);
    });
}

Mask documents(const Halide::Func &query_documents, const Halide::Func &key_documents, const Halide::Func &ranges) {
    const Mask plain = documents(query_documents, key_documents);
    return Mask([plain, ranges](const Cell &cell) {
        const Expr same = plain.allows(cell);
        if (!cell.block) return same;
        const auto within = [&](DocumentRange first, DocumentRange last) {
            // Clamped, which changes none: in a mask that is a choice Halide 21 trips over numbers it knows no bounds of.
            const auto end = [&](DocumentRange which) -> Expr {
                return clamp(ranges(int(which), cell.block->queries.min, cell.batch), -1, 1 << 30);
            };
            return end(first) <= cell.key && cell.key <= end(last);
        };
        if (cell.every) return same || within(DocumentRange::first_full, DocumentRange::last_full);
        return same && within(DocumentRange::first, DocumentRange::last);
    });
}

Mask key_lengths(const Halide::Func &lengths) {
    return Mask([lengths](const Cell &cell) { return cell.key < lengths(cell.batch); });
}

Mask boolean_tensor(const Halide::Func &tensor) {
    return Mask([tensor](const Cell &cell) { return tensor(cell.key, cell.query, cell.head, cell.batch) != 0; });
}

Mask finite_bias(const Halide::Func &bias) {
    return Mask([bias](const Cell &cell) { return !strict_equal(bias(cell.key, cell.query, cell.head, cell.batch), masked_score()); });
}

Expr KeyIntervals::begin(const Expr &r, const Cell &row) const { return table(0, r, row.query, row.head, row.batch); }

Expr KeyIntervals::end(const Expr &r, const Cell &row) const { return table(1, r, row.query, row.head, row.batch); }

Halide::Internal::Interval KeyIntervals::gap(const Expr &g, const Cell &row) const {
    return {select(g == 0, 0, end(max(g - 1, 0), row)), select(g == count, Halide::Int(32).max(), begin(min(g, count - 1), row))};
}

Expr KeyIntervals::allows(const Expr &r, const Cell &cell) const { return begin(r, cell) <= cell.key && cell.key < end(r, cell); }

} // namespace attune::dsl
