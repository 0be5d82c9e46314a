#include "schedules/x86/tile_products.h"

#include <map>
#include <vector>

#include "schedules/stride.h"

namespace attune::schedules::x86 {

using namespace Halide::Internal;
using Halide::BFloat;
using Halide::cast;
using Halide::Expr;
using Halide::Float;
using Halide::Handle;
using Halide::Int;
using Halide::MemoryType;

namespace {

constexpr int word_bytes = 4, tile_row_bytes = 64, tile_elements = tile_rows * tile_columns;

[[noreturn]] void refuse(const std::string &func, const std::string &what) {
    throw Halide::CompileError("attune: products of tiles: " + func + " " + what);
}

/** A statement that adds a product to an element of a Func, and what encloses it. */
struct Product {
    std::vector<const For *> loops; // outermost first
    std::map<std::string, Expr> lets;
    const Store *store = nullptr;
    const Load *a = nullptr, *b = nullptr;
};

// Finds the store of a scalar sum of products in a stage of the Func.
class FindProduct : public IRVisitor {
public:
    explicit FindProduct(const std::string &func) : func(func) {}
    Product found;

private:
    using IRVisitor::visit;
    const std::string &func;
    Product enclosing;

    void visit(const For *op) override {
        enclosing.loops.push_back(op);
        IRVisitor::visit(op);
        enclosing.loops.pop_back();
    }
    void visit(const LetStmt *op) override {
        enclosing.lets[op->name] = Halide::Internal::substitute(enclosing.lets, op->value);
        op->body.accept(this);
        enclosing.lets.erase(op->name);
    }
    void visit(const Store *op) override {
        const Call *sum = op->value.as<Call>();
        if (op->name != func || !sum || sum->name != "dpbf16ps" || !sum->type.is_scalar()) return;
        found = enclosing;
        found.store = op;
        found.a = sum->args[2].as<Load>(), found.b = sum->args[1].as<Load>();
        if (!found.a || !found.b) refuse(func, "multiplies what isn't loaded from memory");
    }
};

/** An index with a constant stride for each of some variables. */
class Affine {
public:
    Affine(const Product &product, const Expr &index) : index(substitute(product.lets, index)) {}

    /** As stride_of(). */
    Expr stride(const std::string &variable) const {
        const Expr stride = stride_of(index, variable);
        return stride.defined() ? simplify(stride) : stride;
    }
    /** The index with variables set. */
    Expr at(const std::map<std::string, Expr> &values) const { return simplify(substitute(values, index)); }

private:
    Expr index;
};

Expr bytes(const Expr &words) { return simplify(cast<int64_t>(words) * word_bytes); }

Expr short_constant(int value) { return make_const(Int(16), value); }

Expr load_tile(const std::string &buffer, const Expr &first, const Expr &stride) {
    return Call::make(
        BFloat(16, 2 * tile_elements), "tile_load",
        {short_constant(tile_rows), short_constant(tile_row_bytes), Variable::make(Handle(), buffer), bytes(first), bytes(stride)},
        Call::Intrinsic);
}

Stmt store_tile(const std::string &buffer, const Expr &first, const Expr &stride, const Expr &tile) {
    return Evaluate::make(Call::make(
        Int(32), "tile_store",
        {short_constant(tile_rows), short_constant(tile_row_bytes), Variable::make(Handle(), buffer), bytes(first), bytes(stride), tile},
        Call::Intrinsic));
}

Expr zero_tile() {
    return Call::make(Float(32, tile_elements), "tile_zero", {short_constant(tile_rows), short_constant(tile_row_bytes)}, Call::Intrinsic);
}

Expr multiply_tiles(const Expr &sum, const Expr &a, const Expr &b) {
    return Call::make(sum.type(), "tile_matmul",
                      {short_constant(tile_rows), short_constant(tile_row_bytes), short_constant(tile_row_bytes), sum, a, b},
                      Call::Intrinsic);
}

const Expr whole_tile = Ramp::make(0, 1, tile_elements);

Expr load_sum(const std::string &name) {
    return Load::make(Float(32, tile_elements), name, whole_tile, Halide::Buffer<>(), Halide::Parameter(), const_true(tile_elements),
                      ModulusRemainder());
}

Stmt store_sum(const std::string &name, const Expr &value) {
    return Store::make(name, value, whole_tile, Halide::Parameter(), const_true(tile_elements), ModulusRemainder());
}

// Makes loops over single terms and elements of sums those over tiles.
class TileSums : public IRMutator {
public:
    TileSums(const std::string &func, const Product &product)
        : func(func), product(product), sum(product, product.store->index), a(product, product.a->index), b(product, product.b->index) {
        for (const For *loop : product.loops)
            classify(loop);
        if (!row || !column || !word || !is_matrix(a, row, column) || !is_matrix(b, word, row))
            refuse(func, "isn't a product of two matrices whose words, and columns, lie side by side");
        rows = tiles_of(row, tile_rows), columns = tiles_of(column, tile_columns);
    }

    // `terms`: the outermost loop over terms. Sums start from zeros, and are stored once.
    Stmt of(const For *terms) {
        std::vector<Stmt> steps;
        each_sum([&](int r, int c) { steps.push_back(store_sum(name(r, c), zero_tile())); });
        steps.push_back(visit(terms));
        each_sum([&](int r, int c) {
            const Expr first = sum.at({{row->name, row->min + r * tile_rows}, {column->name, column->min + c * tile_columns}});
            steps.push_back(store_tile(func, first, sum.stride(row->name), load_sum(name(r, c))));
        });
        Stmt all = Block::make(steps);
        each_sum(
            [&](int r, int c) { all = Allocate::make(name(r, c), Float(32, tile_elements), MemoryType::AMXTile, {1}, const_true(), all); });
        return all;
    }

private:
    using IRMutator::visit;
    const std::string &func;
    const Product &product;
    const Affine sum, a, b;
    const For *row = nullptr, *column = nullptr, *word = nullptr;
    int rows = 0, columns = 0; // tiles

    void classify(const For *loop) {
        const Expr moved = sum.stride(loop->name);
        if (!moved.defined()) refuse(func, "is stored at no constant distance");
        if (is_const_zero(moved)) {
            if (is_one(a, loop)) word = loop;
        } else {
            (is_const_one(moved) && is_one(b, loop) ? column : row) = loop;
        }
    }
    static bool is_one(const Affine &index, const For *loop) {
        const Expr stride = index.stride(loop->name);
        return stride.defined() && is_const_one(stride);
    }
    // Whether the rows of a matrix are a constant distance apart, and a loop over what it doesn't have changes nothing.
    static bool is_matrix(const Affine &index, const For *rows, const For *other) {
        const Expr unmoved = index.stride(other->name);
        return index.stride(rows->name).defined() && unmoved.defined() && is_const_zero(unmoved);
    }
    int tiles_of(const For *loop, int of_tile) const {
        const auto extent = as_const_int(simplify(loop->extent));
        if (!extent || *extent % of_tile != 0) refuse(func, "has a loop that isn't over whole tiles");
        return int(*extent / of_tile);
    }
    std::string name(int r, int c) const { return func + ".tile." + std::to_string(r) + "." + std::to_string(c); }
    template <typename Do> void each_sum(const Do &each) const {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                each(r, c);
    }

    Stmt visit(const LetStmt *op) override { return mutate(op->body); } // Affine has them

    Stmt visit(const For *op) override {
        const Stmt body = mutate(op->body);
        if (op == row || op == column || op == word) return body;
        const Expr min = substitute(product.lets, op->min), extent = substitute(product.lets, op->extent);
        return For::make(op->name, min, extent, op->for_type, op->partition_policy, op->device_api, body);
    }

    Stmt visit(const IfThenElse *op) override {
        if (op->else_case.defined()) refuse(func, "has products of which some are others under a condition");
        return IfThenElse::make(substitute(product.lets, op->condition), mutate(op->then_case));
    }

    Stmt visit(const Store *op) override {
        if (op != product.store) refuse(func, "stores something else among its products");
        const Expr words = simplify(substitute(product.lets, word->extent)), steps = simplify(words / tile_words);
        if (is_const(words)) tiles_of(word, tile_words);
        if (const auto count = as_const_int(steps)) {
            std::vector<Stmt> all;
            for (int i = 0; i < int(*count); i++)
                all.push_back(step(i));
            return Block::make(all);
        }
        const std::string name = word->name + ".tile";
        return For::make(name, 0, steps, ForType::Serial, Halide::Partition::Never, Halide::DeviceAPI::None,
                         step(Variable::make(Int(32), name)));
    }

    // Adds the products of `tile_words` words. Operands are loaded once for all tiles of the step.
    Stmt step(const Expr &nth) const {
        const Expr first = substitute(product.lets, word->min) + nth * tile_words;
        auto start = [&](int r, int c) {
            return std::map<std::string, Expr>{
                {word->name, first}, {row->name, row->min + r * tile_rows}, {column->name, column->min + c * tile_columns}};
        };
        auto operand = [&](char which, int i) {
            return Variable::make(BFloat(16, 2 * tile_elements), func + ".operand." + which + std::to_string(i));
        };
        std::vector<Stmt> products;
        each_sum([&](int r, int c) {
            products.push_back(store_sum(name(r, c), multiply_tiles(load_sum(name(r, c)), operand('a', r), operand('b', c))));
        });
        Stmt all = Block::make(products);
        for (int r = 0; r < rows; r++)
            all = LetStmt::make(operand('a', r).as<Variable>()->name, load_tile(product.a->name, a.at(start(r, 0)), a.stride(row->name)),
                                all);
        for (int c = 0; c < columns; c++)
            all = LetStmt::make(operand('b', c).as<Variable>()->name, load_tile(product.b->name, b.at(start(0, c)), b.stride(word->name)),
                                all);
        return all;
    }
};

// Leaves out the zeros that a Func starts from, which its tiles do in registers.
class WithoutZeros : public IRMutator {
public:
    explicit WithoutZeros(const std::string &func) : func(func) {}

private:
    using IRMutator::visit;
    const std::string &func;

    Stmt visit(const Store *op) override {
        const Broadcast *same = op->value.as<Broadcast>();
        const bool zero = is_const_zero(same ? same->value : op->value);
        return op->name == func && zero ? Evaluate::make(0) : Stmt(op);
    }
};

// Finds the loops over terms of a Func's sums, within those over the sums.
class TileStages : public IRMutator {
public:
    explicit TileStages(const std::string &func) : func(func) {}
    bool any = false;

private:
    using IRMutator::visit;
    const std::string &func;

    Stmt visit(const For *op) override {
        FindProduct find(func);
        op->accept(&find);
        if (!find.found.store) return op;
        const Expr moved = Affine(find.found, find.found.store->index).stride(op->name);
        if (!moved.defined() || !is_const_zero(moved)) return IRMutator::visit(op);
        any = true;
        return TileSums(func, find.found).of(op);
    }
};

} // namespace

Stmt TileProducts::visit(const ProducerConsumer *op) {
    if (!op->is_producer) return IRMutator::visit(op);
    TileStages stages(op->name);
    const Stmt body = stages.mutate(op->body);
    if (!stages.any) return IRMutator::visit(op);
    return ProducerConsumer::make(op->name, true, WithoutZeros(op->name).mutate(body));
}

} // namespace attune::schedules::x86
