#include "schedules/lowered/turn_squares.h"

#include <map>
#include <utility>
#include <vector>

#include "schedules/lowered/stride.h"

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
    bool conditional = false;

    void visit(const For *) override { loops = true; }
    template <typename T> void visit_let(const T *op) {
        op->value.accept(this);
        lets[op->name] = substitute(lets, op->value);
        op->body.accept(this);
        lets.erase(op->name);
    }
    void visit(const LetStmt *op) override { visit_let(op); }
    void visit(const Let *op) override { visit_let(op); }
    // What is loaded under a condition may lie outside of the memory without it.
    void visit(const IfThenElse *op) override {
        const bool around = std::exchange(conditional, true);
        IRVisitor::visit(op);
        conditional = around;
    }
    void visit(const Load *op) override {
        const Ramp *elements = op->index.as<Ramp>();
        if (op->name == func && !conditional && elements && !is_const_one(elements->stride)) {
            load = op;
            first = substitute(lets, elements->base), stride = substitute(lets, elements->stride);
        }
        IRVisitor::visit(op);
    }
};

// Vectors with names of their own, each made of those before it.
class Network {
public:
    explicit Network(const std::string &name) : name(name) {}

    Expr add(const Expr &value) {
        lets.emplace_back(name + std::to_string(lets.size()), value);
        return Variable::make(value.type(), lets.back().first);
    }
    Stmt around(Stmt body) const {
        for (auto let = lets.rbegin(); let != lets.rend(); ++let)
            body = LetStmt::make(let->first, let->second, body);
        return body;
    }

private:
    const std::string &name;
    std::vector<std::pair<std::string, Expr>> lets;
};

// As element i that of index `chosen(i)` of two vectors, the second's after the first's.
template <typename Chosen> Expr shuffled(const Expr &a, const Expr &b, Chosen chosen) {
    std::vector<int> indices;
    for (int i = 0; i < a.type().lanes(); i++)
        indices.push_back(chosen(i));
    return Shuffle::make({a, b}, indices);
}

constexpr int quad = 4; // elements of 32 bits in 128, within which x86 shuffles without a table of lanes

// In each quad, pieces of one and two elements of both vectors in turn: of its lower half, or of its upper (vunpcklps and its like).
Expr unpacked(const Expr &a, const Expr &b, int piece, bool upper) {
    const int lanes = a.type().lanes();
    return shuffled(a, b, [=](int i) {
        const int in_quad = i % quad, nth = in_quad / piece;
        return i - in_quad + (upper ? quad / 2 : 0) + nth / 2 * piece + in_quad % piece + nth % 2 * lanes;
    });
}

// Every other quad of one vector, and then of the other (vshuff32x4).
Expr every_other_quad(const Expr &a, const Expr &b, int first) {
    return shuffled(a, b, [=](int i) { return (i / quad * 2 + first) * quad + i % quad; });
}

// As many vectors as each has quads: the columns of that square.
std::vector<Expr> turned_quads(Network &network, const std::vector<Expr> &rows) {
    if (rows.size() == 1) return rows;
    std::vector<Expr> even, odd, turned;
    for (size_t i = 0; i < rows.size(); i += 2) {
        even.push_back(network.add(every_other_quad(rows[i], rows[i + 1], 0)));
        odd.push_back(network.add(every_other_quad(rows[i], rows[i + 1], 1)));
    }
    even = turned_quads(network, even), odd = turned_quads(network, odd);
    for (size_t i = 0; i < even.size(); i++)
        turned.push_back(even[i]), turned.push_back(odd[i]);
    return turned;
}

// The columns of a square of n x n elements, n log2(n) shuffles: within quads first, and then of whole ones.
std::vector<Expr> turned(Network &network, std::vector<Expr> rows) {
    const size_t size = rows.size();
    std::vector<Expr> pairs(size), quads(size), columns(size);
    for (Expr &row : rows)
        row = network.add(row);
    for (size_t i = 0; i < size; i++)
        pairs[i] = network.add(unpacked(rows[i / 2 * 2], rows[i / 2 * 2 + 1], 1, i % 2 == 1));
    for (size_t i = 0; i < size; i++) {
        const size_t first = i / quad * quad + i % quad / 2;
        quads[i] = network.add(unpacked(pairs[first], pairs[first + 2], 2, i % 2 == 1));
    }
    for (size_t j = 0; j < quad; j++) {
        std::vector<Expr> of_column;
        for (size_t i = j; i < size; i += quad)
            of_column.push_back(quads[i]);
        of_column = turned_quads(network, of_column);
        for (size_t i = 0; i < of_column.size(); i++)
            columns[i * quad + j] = of_column[i];
    }
    return columns;
}

// Whether such a network turns squares of these vectors.
bool can_turn(const Halide::Type &type) {
    const int size = type.lanes();
    return type.bits() == 32 && size >= quad && (size & (size - 1)) == 0;
}

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
    if (!step.defined() || !is_const_one(simplify(step)) || expr_uses_var(find.stride, op->name) || !is_const_one(find.load->predicate) ||
        !can_turn(find.load->type))
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
    Network network(name);
    const std::vector<Expr> columns = turned(network, rows);
    std::vector<Stmt> iterations;
    for (int i = 0; i < size; i++) {
        const Stmt iteration = Replace(find.load, columns[size_t(i)]).mutate(op->body);
        iterations.push_back(substitute(op->name, simplify(begin + i), iteration));
    }
    const Expr count = simplify(op->extent / size), whole_squares = simplify(count * size);
    auto loop = [&](const std::string &variable, const Expr &min, const Expr &extent, const Stmt &body) {
        return For::make(variable, min, extent, op->for_type, op->partition_policy, op->device_api, body);
    };
    const Stmt whole = loop(squares, 0, count, network.around(Block::make(iterations)));
    const Expr left = simplify(op->extent - whole_squares);
    return is_const_zero(left) ? whole : Block::make(whole, loop(op->name, simplify(op->min + whole_squares), left, op->body));
}

} // namespace attune::schedules
