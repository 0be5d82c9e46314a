#include "schedules/cuda/join_branches.h"

#include <vector>

namespace attune::schedules::cuda {

using Halide::Expr;
using namespace Halide::Internal;

namespace {

/** What a condition reads; and whether that is all it depends on. */
class Reads : public IRVisitor {
public:
    explicit Reads(const Expr &condition) { condition.accept(this); }
    std::vector<const Load *> loads;
    bool is_all = true;

private:
    using IRVisitor::visit;
    void visit(const Load *op) override { IRVisitor::visit(op), loads.push_back(op); }
    void visit(const Call *op) override { IRVisitor::visit(op), is_all = is_all && op->is_pure(); }
};

/** Whether a statement may write what is read. */
class Changes : public IRVisitor {
public:
    Changes(const Stmt &body, const Reads &reads) : reads(reads) { body.accept(this); }
    bool found = false;

private:
    using IRVisitor::visit;
    const Reads &reads;

    void visit(const Store *op) override {
        IRVisitor::visit(op);
        for (const Load *load : reads.loads) {
            const bool apart = is_const(op->index) && is_const(load->index) && !equal(op->index, load->index);
            found = found || (load->name == op->name && !apart);
        }
    }
    void visit(const Call *op) override { IRVisitor::visit(op), found = found || !op->is_pure(); }
};

const IfThenElse *branch(const Stmt &s) {
    const IfThenElse *op = s.as<IfThenElse>();
    return op && !op->else_case.defined() ? op : nullptr;
}

/** The statement that does both, where `first` leaves the condition that they share as it is. */
Stmt joined(const Stmt &first, const Stmt &second) {
    const IfThenElse *a = branch(first), *b = branch(second);
    if (!a || !b || !equal(a->condition, b->condition)) return {};
    const Reads reads(a->condition);
    if (!reads.is_all || Changes(a->then_case, reads).found) return {};
    return IfThenElse::make(a->condition, Block::make(a->then_case, b->then_case));
}

void flatten(const Stmt &s, std::vector<Stmt> &into) {
    if (const Block *block = s.as<Block>())
        flatten(block->first, into), flatten(block->rest, into);
    else
        into.push_back(s);
}

} // namespace

Stmt JoinBranches::visit(const Block *op) {
    std::vector<Stmt> parts, result;
    flatten(op, parts);
    for (const Stmt &part : parts) {
        const Stmt changed = mutate(part), both = result.empty() ? Stmt() : joined(result.back(), changed);
        if (both.defined())
            result.back() = both;
        else
            result.push_back(changed);
    }
    return Block::make(result);
}

} // namespace attune::schedules::cuda
