#include "schedules/x86/tile_products.h"

#include <map>
#include <vector>

#include "dsl/prefetch.h"
#include "schedules/x86/pair_products.h"

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

// Of words, or of other elements.
Expr bytes(const Expr &elements, int element_bytes = word_bytes) { return simplify(cast<int64_t>(elements) * element_bytes); }

Expr short_constant(int value) { return make_const(Int(16), value); }

// `nth`: of those of the same tile. LLVM takes calls of the same address for one, and would hold its tile in a register that others need,
// or in memory: each time another part of the address is left to the offset.
Expr load_tile(const Product::Operand &operand, const Expr &first, const Expr &stride, int nth) {
    const int element_bytes = operand.load->type.bytes();
    Expr buffer = Variable::make(Handle(), operand.load->name);
    if (operand.instead) buffer = select(operand.condition, Variable::make(Handle(), operand.instead->name), buffer);
    const int64_t further = int64_t(nth) * tile_row_bytes;
    const Expr pointer = nth == 0 ? buffer : Halide::reinterpret(Handle(), Halide::reinterpret<uint64_t>(buffer) + Expr(uint64_t(further)));
    return Call::make(BFloat(16, 2 * tile_elements), "tile_load",
                      {short_constant(tile_rows), short_constant(tile_row_bytes), pointer,
                       simplify(bytes(first, element_bytes) - Expr(further)), bytes(stride, element_bytes)},
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

// Statements one after the other, and names that hold from there on.
class Steps {
public:
    void add(const Stmt &s) { steps.push_back({"", Expr(), s}); }
    void name(const std::string &name, const Expr &value) { steps.push_back({name, value, Stmt()}); }
    Stmt all() const {
        Stmt rest;
        for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
            if (step->value.defined())
                rest = LetStmt::make(step->name, step->value, rest);
            else
                rest = rest.defined() ? Block::make(step->statement, rest) : step->statement;
        }
        return rest;
    }

private:
    struct Step {
        std::string name;
        Expr value;
        Stmt statement;
    };
    std::vector<Step> steps;
};

// Makes loops over single terms and elements of sums those over tiles.
class TileSums : public IRMutator {
public:
    TileSums(const std::string &func, const Product &product)
        : func(func), product(product), sum(product, product.store->index), a(product, product.factors.front().a.load->index),
          b(product, product.factors.front().b.load->index) {
        for (const For *loop : product.loops)
            classify(loop);
        if (!row || !column || !word || !is_matrix(a, row, column) || !is_matrix(b, word, row) || (blocks && !is_matrix(a, row, blocks)))
            refuse_product(func, "isn't a product of two matrices whose words, and columns, lie side by side");
        more_words = further_words();
        for (const Product::Factors &f : product.factors) {
            if (!lies_as(f.a.load, product.factors.front().a.load, a) || !lies_as(f.b.load, product.factors.front().b.load, b))
                refuse_product(func, "adds products of matrices that don't lie alike");
            if (differs_within(f.a) || differs_within(f.b))
                refuse_product(func, "takes one of two matrices for some products and the other for others");
        }
        rows = tiles_of(row, tile_rows), columns_of_block = tiles_of(column, tile_columns);
        columns = columns_of_block * (blocks ? tiles_of(blocks, 1) : 1);
    }

    // `terms`: the outermost loop over terms. Sums start from zeros, and are stored once.
    Stmt of(const For *terms) {
        std::vector<Stmt> steps;
        each_sum([&](int r, int c) { steps.push_back(store_sum(name(r, c), zero_tile())); });
        steps.push_back(visit(terms));
        each_sum(
            [&](int r, int c) { steps.push_back(store_tile(func, sum.at(start(r, c)), sum.stride(row->name), load_sum(name(r, c)))); });
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
    const For *blocks = nullptr, *more_words = nullptr; // if any: over blocks of columns, and where the words go on
    int rows = 0, columns = 0, columns_of_block = 0;    // tiles

    struct Asked {
        const Evaluate *statement;
        Expr address;
    };
    std::vector<Asked> asked; // with the products of each word, and so before they are made
    bool made = false;

    void classify(const For *loop) {
        const Expr moved = sum.stride(loop->name);
        if (!moved.defined()) refuse_product(func, "is stored at no constant distance");
        if (is_const_zero(moved)) {
            if (is_one(a, loop, word_bytes / product.factors.front().a.load->type.bytes())) word = loop;
        } else if (is_const_one(moved) && is_one(b, loop)) {
            column = loop;
        } else {
            const Expr of_b = b.stride(loop->name);
            const For *&is = of_b.defined() && !is_const_zero(of_b) ? blocks : row;
            if (is) refuse_product(func, "has more loops over rows, or blocks of columns, than one of each");
            is = loop;
        }
    }
    // Whether a matrix lies as the first product's does, which differs from it by no more than where it begins.
    bool lies_as(const Load *load, const Load *first, const Affine &of_first) const {
        const Affine index(product, load->index);
        for (const For *loop : product.loops) {
            const Expr own = index.stride(loop->name), other = of_first.stride(loop->name);
            if (own.defined() != other.defined() || (own.defined() && !is_const_zero(simplify(own - other)))) return false;
        }
        return load->type == first->type;
    }
    // Whether which matrix an operand is loaded from differs within a tile.
    bool differs_within(const Product::Operand &operand) const {
        if (!operand.instead) return false;
        for (const For *loop : {row, column, word, blocks, more_words})
            if (loop && expr_uses_var(operand.condition, loop->name)) return true;
        return false;
    }
    static bool is_one(const Affine &index, const For *loop, int one = 1) {
        const Expr stride = index.stride(loop->name);
        return stride.defined() && is_const(stride, one);
    }
    // Whether the rows of a matrix are a constant distance apart, and a loop over what it doesn't have changes nothing.
    static bool is_matrix(const Affine &index, const For *rows, const For *other) {
        const Expr unmoved = index.stride(other->name);
        return index.stride(rows->name).defined() && unmoved.defined() && is_const_zero(unmoved);
    }
    int tiles_of(const For *loop, int of_tile) const {
        const auto extent = as_const_int(simplify(loop->extent));
        if (!extent || *extent % of_tile != 0) refuse_product(func, "has a loop that isn't over whole tiles");
        return int(*extent / of_tile);
    }
    // The loop over terms that goes on where the words end, in both matrices.
    const For *further_words() const {
        for (const For *loop : product.loops) {
            const Expr of_sum = sum.stride(loop->name), of_a = a.stride(loop->name), of_b = b.stride(loop->name);
            if (loop == word || !is_const_zero(of_sum) || !of_a.defined() || !of_b.defined()) continue;
            const int word_stride = word_bytes / product.factors.front().a.load->type.bytes();
            const Expr apart_in_b = of_b - cast(of_b.type(), b.stride(word->name)) * cast(of_b.type(), word->extent);
            const bool goes_on =
                is_const_zero(simplify(of_a - cast(of_a.type(), word->extent) * word_stride)) && is_const_zero(simplify(apart_in_b));
            const auto extent = as_const_int(simplify(word->extent));
            if (goes_on && extent && tile_words % *extent == 0) return loop;
        }
        return nullptr;
    }
    Expr words() const {
        const Expr all = more_words ? word->extent * more_words->extent : word->extent;
        return simplify(substitute(product.lets, all));
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
        if (op == row || op == column || op == blocks || op == word || op == more_words) return body;
        const Expr min = substitute(product.lets, op->min), extent = substitute(product.lets, op->extent);
        return For::make(op->name, min, extent, op->for_type, op->partition_policy, op->device_api, body);
    }

    Stmt visit(const IfThenElse *op) override {
        if (op->else_case.defined()) refuse_product(func, "has products of which some are others under a condition");
        return IfThenElse::make(substitute(product.lets, op->condition), mutate(op->then_case));
    }

    Stmt visit(const Evaluate *op) override {
        const Expr address = dsl::asked_address(op);
        if (!address.defined() || made) refuse_product(func, "does something else among its products");
        asked.push_back({op, substitute(product.lets, address)});
        for (const For *loop : {row, column})
            if (expr_uses_var(asked.back().address, loop->name)) refuse_product(func, "asks for other memory with each row or column");
        return Evaluate::make(0);
    }

    Stmt visit(const Store *op) override {
        if (op != product.store) refuse_product(func, "stores something else among its products");
        made = true;
        const Expr words = this->words(), steps = simplify(words / tile_words);
        if (const auto count = as_const_int(words); count && *count % tile_words != 0)
            refuse_product(func, "has words that fill no whole tiles");
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

    // Adds the products of `tile_words` words. Operands are loaded where they are first wanted, and so as few at once as can be: of eight
    // registers LLVM would else copy some, by way of memory. What the product before has too is still there.
    Stmt step(const Expr &nth) const {
        const Expr first = substitute(product.lets, word->min) + nth * tile_words;
        Steps steps;
        for (size_t nth_product = 0; nth_product < product.factors.size(); nth_product++)
            add_product(nth_product, first, steps);
        return steps.all();
    }

    static bool is_same(const Product::Operand &one, const Product::Operand &other) {
        const auto both = [](const Load *a, const Load *b) { return a && b ? a->name == b->name && equal(a->index, b->index) : a == b; };
        return both(one.load, other.load) && both(one.instead, other.instead) && (!one.instead || equal(one.condition, other.condition));
    }
    bool is_new(size_t nth_product, Product::Operand Product::Factors::*of) const {
        return nth_product == 0 || !is_same(product.factors[nth_product].*of, product.factors[nth_product - 1].*of);
    }
    // How often what a product has was loaded before, and not kept.
    int loaded_before(size_t nth_product, Product::Operand Product::Factors::*of) const {
        int times = 0;
        for (size_t i = 0; i < nth_product; i++)
            times += is_new(i, of) && is_same(product.factors[i].*of, product.factors[nth_product].*of);
        return times;
    }

    void add_product(size_t nth_product, const Expr &first, Steps &steps) const {
        const Product::Factors &factors = product.factors[nth_product];
        auto at = [&](int r, int c) {
            std::map<std::string, Expr> values = start(r, c);
            values[word->name] = first;
            return values;
        };
        auto operand = [&](char which, int i) {
            return Variable::make(BFloat(16, 2 * tile_elements), func + ".operand." + which + std::to_string(i));
        };
        auto load = [&](const Expr &operand, Product::Operand Product::Factors::*of, const std::map<std::string, Expr> &place,
                        const Expr &stride) {
            const Product::Operand &from = factors.*of;
            steps.name(operand.as<Variable>()->name,
                       load_tile(from, Affine(product, from.load->index).at(place), stride, loaded_before(nth_product, of)));
        };
        const bool new_a = is_new(nth_product, &Product::Factors::a), new_b = is_new(nth_product, &Product::Factors::b);
        auto multiply = [&](int r, int c, bool first_of_row, bool first_of_column) {
            if (new_a && first_of_row) load(operand('a', r), &Product::Factors::a, at(r, 0), a.stride(row->name));
            if (new_b && first_of_column) load(operand('b', c), &Product::Factors::b, at(0, c), b.stride(word->name));
            for (const Asked &ask : asked)
                if (nth_product == 0 && r == 0 && (c == 0 || (blocks && expr_uses_var(ask.address, blocks->name))))
                    steps.add(asks(ask, c, first));
            steps.add(store_sum(name(r, c), multiply_tiles(load_sum(name(r, c)), operand('a', r), operand('b', c))));
        };
        if (new_a)
            each_sum([&](int r, int c) { multiply(r, c, c == 0, r == 0); });
        else
            for (int c = 0; c < columns; c++)
                for (int r = 0; r < rows; r++)
                    multiply(r, c, c == 0, r == 0);
    }

    // What is asked for with the words of a tile of columns.
    Stmt asks(const Asked &ask, int c, const Expr &first_word) const {
        const int words_side_by_side = more_words ? int(*as_const_int(simplify(word->extent))) : tile_words;
        const std::string name = unique_name(word->name + ".asked");
        const Expr each = Variable::make(Int(32), name);
        std::vector<Stmt> loops;
        for (int further = 0; further < tile_words; further += words_side_by_side) {
            std::map<std::string, Expr> values = start(0, c);
            values[word->name] = more_words ? word->min + each : first_word + each;
            if (more_words) values[more_words->name] = more_words->min + (first_word - word->min + further) / words_side_by_side;
            const Expr address = simplify(substitute(values, ask.address));
            loops.push_back(For::make(name, 0, words_side_by_side, ForType::Serial, Halide::Partition::Never, Halide::DeviceAPI::None,
                                      dsl::ask_elsewhere(ask.statement, address)));
        }
        return Block::make(loops);
    }

    std::map<std::string, Expr> start(int r, int c) const {
        std::map<std::string, Expr> values = {{row->name, row->min + r * tile_rows},
                                              {column->name, column->min + c % columns_of_block * tile_columns}};
        if (blocks) values[blocks->name] = blocks->min + c / columns_of_block;
        if (more_words) values[more_words->name] = more_words->min;
        return values;
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
        const std::optional<Product> found = find_product(op, func);
        if (!found) return op;
        const Expr moved = Affine(*found, found->store->index).stride(op->name);
        if (!moved.defined() || !is_const_zero(moved)) return IRMutator::visit(op);
        any = true;
        return TileSums(func, *found).of(op);
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
