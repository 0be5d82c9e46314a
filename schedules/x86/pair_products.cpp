#include "schedules/x86/pair_products.h"

#include "dsl/words.h"
#include "schedules/lowered/stride.h"

namespace attune::schedules::x86 {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

class FindProduct : public IRVisitor {
public:
    explicit FindProduct(const std::string &func) : func(func) {}
    std::optional<Product> found;

private:
    using IRVisitor::visit;
    const std::string &func;
    Product enclosing;

    static const Load *load_of(const Expr &operand) {
        const Expr *elements = dsl::words_source(operand);
        return (elements ? *elements : operand).as<Load>();
    }
    Product::Operand loaded(const Expr &operand) const {
        const Select *either = operand.as<Select>();
        Product::Operand found{load_of(either ? either->false_value : operand)};
        if (either) found.instead = load_of(either->true_value), found.condition = either->condition;
        if (!found.load || (either && !found.instead)) refuse_product(func, "multiplies what isn't loaded from memory");
        if (either && (found.load->type != found.instead->type || !equal(simplify(found.load->index), simplify(found.instead->index))))
            refuse_product(func, "multiplies what lies elsewhere in one of two matrices");
        return found;
    }

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
        if (op->name != func || !op->value.type().is_scalar()) return;
        // What several products share has a name.
        const Expr value = substitute(enclosing.lets, substitute_in_all_lets(op->value));
        std::vector<Product::Factors> factors;
        for (const Call *sum = product_of(value); sum; sum = product_of(sum->args[0]))
            factors.insert(factors.begin(), {loaded(sum->args[2]), loaded(sum->args[1])});
        if (factors.empty()) return;
        found = enclosing;
        found->store = op, found->value = value, found->factors = factors;
    }
    static const Call *product_of(const Expr &sum) {
        const Call *call = sum.as<Call>();
        return call && call->name == "dpbf16ps" ? call : nullptr;
    }
};

} // namespace

std::optional<Product> find_product(const Stmt &s, const std::string &func) {
    FindProduct find(func);
    s.accept(&find);
    return find.found;
}

void refuse_product(const std::string &func, const std::string &what) {
    throw Halide::CompileError("attune: products of tiles: " + func + " " + what);
}

Affine::Affine(const Product &product, const Expr &index) : index(substitute(product.lets, index)) {}

Expr Affine::stride(const std::string &variable) const {
    const Expr stride = stride_of(index, variable);
    return stride.defined() ? simplify(stride) : stride;
}

Expr Affine::at(const std::map<std::string, Expr> &values) const { return simplify(substitute(values, index)); }

} // namespace attune::schedules::x86
