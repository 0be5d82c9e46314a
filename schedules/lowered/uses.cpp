#include "schedules/lowered/uses.h"

namespace attune::schedules {

using namespace Halide::Internal;

namespace {

class Uses : public IRVisitor {
public:
    Uses(const std::set<std::string> &names, const std::set<std::string> &buffers) : names(names), buffers(buffers) {}
    bool any = false;

private:
    using IRVisitor::visit;
    const std::set<std::string> &names, &buffers;

    void visit(const Variable *op) override { any = any || names.count(op->name); }
    void visit(const Load *op) override {
        any = any || buffers.count(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        any = any || !op->is_pure();
        IRVisitor::visit(op);
    }
};

class Stores : public IRVisitor {
public:
    std::set<std::string> names;

private:
    using IRVisitor::visit;

    void visit(const Store *op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
};

} // namespace

bool uses(const Halide::Expr &e, const std::set<std::string> &names, const std::set<std::string> &buffers) {
    Uses u(names, buffers);
    e.accept(&u);
    return u.any;
}

std::set<std::string> stored_in(const Stmt &s) {
    Stores stores;
    s.accept(&stores);
    return stores.names;
}

Halide::Expr substituted(const Values &values, Halide::Expr e) {
    for (auto value = values.rbegin(); value != values.rend(); ++value)
        e = substitute(value->first, value->second, e);
    return e;
}

} // namespace attune::schedules
