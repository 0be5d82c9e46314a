#include "dsl/loading.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

class FirstLoad : public IRVisitor {
public:
    const Load *load = nullptr;

private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        if (!load) load = op;
    }
};

} // namespace

const Load &load_of(const Expr &loading, const std::string &where) {
    FirstLoad first;
    loading.accept(&first);
    if (!first.load) throw Halide::CompileError("attune: nothing is loaded where " + where);
    return *first.load;
}

// The constant comes last: LLVM would add it to the buffer first, and keep one sum for each constant rather than what all have in common.
Expr address_at(const std::string &buffer, const Expr &index, int element_bytes) {
    Expr rest = simplify(index);
    int64_t constant = 0;
    if (const Add *sum = rest.as<Add>())
        if (const auto c = as_const_int(sum->b)) constant = *c, rest = sum->a;
    const Expr first = Halide::reinterpret<uint64_t>(Variable::make(Halide::Handle(), buffer));
    const Expr bytes = first + Halide::cast<uint64_t>(rest) * Expr(uint64_t(element_bytes));
    return bytes + Expr(uint64_t(constant * element_bytes));
}

namespace {

// What Halide's runtime says of a buffer.
Expr asked_of(const Halide::Parameter &buffer, Halide::Type type, Call::ConstString what) {
    const Expr described = Variable::make(Halide::type_of<halide_buffer_t *>(), buffer.name() + ".buffer", buffer);
    return Call::make(type, what, {described}, Call::PureExtern);
}

} // namespace

Expr address_of(const Halide::Parameter &buffer) {
    return Halide::reinterpret<uint64_t>(asked_of(buffer, Halide::Handle(), Call::buffer_get_host));
}

Expr device_address_of(const Halide::Parameter &buffer) { return asked_of(buffer, Halide::UInt(64), Call::buffer_get_device); }

} // namespace attune::dsl
