// Sums of products of pairs of bf16 in lowered code, as the pass that makes products of tiles finds them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

namespace attune::schedules::x86 {

/** A statement that adds products to an element of a Func, and what encloses it. */
struct Product {
    // Loaded from one matrix, or where a condition holds, from another, at the same index.
    struct Operand {
        const Halide::Internal::Load *load = nullptr, *instead = nullptr;
        Halide::Expr condition = {};
    };
    struct Factors {
        Operand a, b;
    };
    std::vector<const Halide::Internal::For *> loops; // outermost first
    std::map<std::string, Halide::Expr> lets;
    const Halide::Internal::Store *store = nullptr;
    std::vector<Factors> factors; // one after the other
    Halide::Expr value;           // that is stored, which holds the factors
};

/** The store of a scalar sum, and of products that are added to it, in a stage of the Func, if there is one. Throws Halide::CompileError
 * where what is multiplied isn't loaded. What is found points into the statement. */
std::optional<Product> find_product(const Halide::Internal::Stmt &s, const std::string &func);

/** Throws Halide::CompileError: what about the Func's products there is no code for. */
[[noreturn]] void refuse_product(const std::string &func, const std::string &what);

/** An index with a constant stride for each of some variables. */
class Affine {
public:
    Affine(const Product &product, const Halide::Expr &index);

    /** As stride_of(). */
    Halide::Expr stride(const std::string &variable) const;
    /** The index with variables set. */
    Halide::Expr at(const std::map<std::string, Halide::Expr> &values) const;

private:
    Halide::Expr index;
};

} // namespace attune::schedules::x86
