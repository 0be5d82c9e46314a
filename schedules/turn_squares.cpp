#include "schedules/turn_squares.h"

#include <map>
#include <vector>

#include "schedules/stride.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// The load of a vector that isn't of neighbours, and its index without the loop's own lets.
class FindColumn : public IRVisitor {
public:
    explicit FindColumn(const std::string &func) : func(func) {}
    const Load *load = nullptr;
    Expr first, stride;
    bool loops = false; // whether there are loops inside

private:
    using IRVisitor::visit;
    const std::string &func;
    std::map<std::string, Expr> lets;

    void visit(const For *) override { loops = true; }
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        lets[op->name] = substitute(lets, op->value);
        op->body.accept(this);
        lets.erase(op->name);
    }
    void visit(const Load *op) override {
        const Ramp *elements = op->index.as<Ramp>();
        if (op->name == func && elements && !is_const_one(elements->stride)) {
            load = op;
            first = substitute(lets, elements->base), stride = substitute(lets, elements->stride);
        }
        IRVisitor::visit(op);
    }
};

// One vector for the load of another.
class Replace : public IRMutator {
public:
    Replace(const Load *load, const Expr &by) : load(load), by(by) {}

private:
    using IRMutator::visit;
    const Load *load;
    const Expr &by;

    Expr visit(const Load *op) override { return op == load ? by : IRMutator::visit(op); }
};

} // namespace

Stmt TurnSquares::visit(const For *op) {
    FindColumn find(func);
    op->body.accept(&find);
    if (find.loops || !find.load) return IRMutator::visit(op);
    const int size = find.load->type.lanes();
    const Expr step = stride_of(find.first, op->name);
    if (!step.defined() || !is_const_one(simplify(step)) || expr_uses_var(find.stride, op->name) || !is_const_one(find.load->predicate))
        return op;

    const std::string squares = op->name + ".square", name = func + ".square";
    const Expr begin = op->min + Variable::make(Halide::Int(32), squares) * size;
    const Halide::Type type = find.load->type;
    std::vector<Expr> rows;
    for (int i = 0; i < size; i++) {
        const Expr of_row = simplify(substitute(op->name, begin, find.first) + find.stride * i);
        rows.push_back(Load::make(type, func, Ramp::make(of_row, make_one(of_row.type()), size), Halide::Buffer<>(), Halide::Parameter(),
                                  const_true(size), ModulusRemainder()));
    }
    const Expr square = Variable::make(type.with_lanes(size * size), name);
    std::vector<Stmt> iterations;
    for (int i = 0; i < size; i++) {
        const Stmt iteration = Replace(find.load, Shuffle::make_slice(square, i * size, 1, size)).mutate(op->body);
        iterations.push_back(substitute(op->name, simplify(begin + i), iteration));
    }
    const Expr count = simplify(op->extent / size), turned = simplify(count * size);
    auto loop = [&](const std::string &variable, const Expr &min, const Expr &extent, const Stmt &body) {
        return For::make(variable, min, extent, op->for_type, op->partition_policy, op->device_api, body);
    };
    const Stmt whole = loop(squares, 0, count, LetStmt::make(name, Shuffle::make_interleave(rows), Block::make(iterations)));
    const Expr left = simplify(op->extent - turned);
    return is_const_zero(left) ? whole : Block::make(whole, loop(op->name, simplify(op->min + turned), left, op->body));
}

} // namespace attune::schedules
