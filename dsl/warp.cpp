#include "dsl/warp.h"

namespace attune::dsl::warp {

using Halide::Expr;
using Halide::Float;
using Halide::Int;
using Halide::UInt;

namespace {

const char *suffix(Halide::Type element) { return element.is_bfloat() ? "bf16" : "f16"; }

} // namespace

const char *const in_steps_name = "warp_in_steps";

Expr in_steps(const Expr &step, const Expr &count) { return call(Halide::Bool(), "in_steps", {step, count}); }

Expr call(Halide::Type type, const std::string &name, const std::vector<Expr> &arguments) {
    return Halide::Internal::Call::make(type, "warp_" + name, arguments, Halide::Internal::Call::PureExtern);
}

Expr add_product(Halide::Type element, const Expr &c, const Expr &r, const std::vector<Expr> &a, const std::vector<Expr> &b,
                 const std::vector<Expr> &ahead) {
    std::vector<Expr> arguments{r};
    for (const std::vector<Expr> *more : {&a, &b, &ahead})
        arguments.insert(arguments.end(), more->begin(), more->end());
    const std::string name = std::string("mma_m16n8k16_") + suffix(element) + (ahead.empty() ? "" : "_ahead");
    return strict_float(c + call(Float(32), name, arguments));
}

namespace {

std::string group_product(const char *operands, int columns, Halide::Type element) {
    return std::string("wgmma_") + operands + "_m64n" + std::to_string(columns) + "k16_" + suffix(element);
}

} // namespace

Expr add_group_product(Halide::Type element, int columns, const Expr &c, const Expr &i, const Expr &a, const Expr &b, int line_bytes,
                       const std::vector<Expr> &ahead) {
    std::vector<Expr> arguments{i, a, b, line_bytes};
    arguments.insert(arguments.end(), ahead.begin(), ahead.end());
    return strict_float(c + call(Float(32), group_product("ss", columns, element) + (ahead.empty() ? "" : "_ahead"), arguments));
}

Expr add_group_product(Halide::Type element, int columns, const Expr &c, const Expr &i, const std::vector<Expr> &a, const Expr &b,
                       int line_bytes, int panel_bytes) {
    std::vector<Expr> arguments{i};
    arguments.insert(arguments.end(), a.begin(), a.end());
    arguments.insert(arguments.end(), {b, line_bytes, panel_bytes});
    return strict_float(c + call(Float(32), group_product("rs", columns, element), arguments));
}

Expr load_matrices(const Expr &r, const Expr &word) { return call(UInt(32), "ldmatrix_x4", {r, word}); }

Expr load_matrices_transposed(const Expr &r, const Expr &word) { return call(UInt(32), "ldmatrix_x4_trans", {r, word}); }

Expr shuffle_xor(const Expr &x, int mask) { return call(Float(32), "shfl_bfly_f32", {x, mask}); }

Expr any(const Expr &condition) { return call(Int(32), "any", {condition}); }

Expr pack(Halide::Type element, const Expr &low, const Expr &high) {
    return call(UInt(32), std::string("cvt_") + suffix(element) + "x2", {low, high});
}

Expr add_zero_times(Halide::Type element, const Expr &word, const Expr &sum) {
    return call(UInt(32), std::string("fma_") + suffix(element) + "x2", {word, Halide::cast<uint32_t>(0), sum});
}

Expr maximum(const Expr &a, const Expr &b) { return call(Float(32), "max", {a, b}); }

Expr larger(const Expr &a, const Expr &b) { return call(Float(32), "larger", {a, b}); }

Expr equal(const Expr &a, const Expr &b) { return call(Int(32), "equal", {a, b}); }

Expr exceeds(const Expr &a, const Expr &b) { return call(Int(32), "exceeds", {a, b}); }

Expr add(const Expr &a, const Expr &b) { return call(Float(32), "add", {a, b}); }

Expr subtract(const Expr &a, const Expr &b) { return call(Float(32), "sub", {a, b}); }

Expr multiply(const Expr &a, const Expr &b) { return call(Float(32), "mul", {a, b}); }

Expr multiply_add(const Expr &a, const Expr &b, const Expr &c) { return call(Float(32), "fma", {a, b, c}); }

Expr exclusive_or(const Expr &a, const Expr &b, int most) { return clamp(call(Int(32), "xor", {a, b}), 0, most); }

// Not pure: a call that is may be moved before a loop, with all that is made of it.
Expr opaque(const Expr &x) {
    using Halide::Internal::Call;
    return Call::make(Int(32), "warp_opaque", {x}, Call::Extern);
}

Expr choose(const Expr &condition, const Expr &a, const Expr &b) {
    return call(a.type(), a.type() == Float(32) ? "select_f32" : "select_u32", {condition, a, b});
}

Expr exp2(const Expr &x) { return call(Float(32), "ex2", {x}); }

Expr reciprocal(const Expr &x) { return call(Float(32), "rcp", {x}); }

Expr log2(const Expr &x) { return call(Float(32), "lg2", {x}); }

} // namespace attune::dsl::warp
