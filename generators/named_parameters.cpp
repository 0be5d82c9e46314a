#include "generators/named_parameters.h"

namespace attune::generators {

namespace {

using namespace Halide::Internal;

class ParameterReads : public IRVisitor {
public:
    ParameterReads(const std::string &params, int count) : params_(params), count_(count) {}

private:
    const std::string &params_;
    int count_;

    void visit(const Call *call) override {
        IRVisitor::visit(call);
        if (call->name != params_ || call->args.size() != 1) return;
        const auto index = as_const_int(simplify(call->args[0]));
        if (!index || (*index >= 0 && *index < count_)) return;
        const std::string sentence = "attune: params(" + std::to_string(*index) + ") is read, but attune_add_kernel's PARAMS names " +
                                     std::to_string(count_) + (count_ == 1 ? " parameter" : " parameters");
        throw Halide::CompileError(sentence.c_str());
    }
    using IRVisitor::visit;
};

} // namespace

void check_parameters(const std::optional<dsl::Mask> &mask, const std::optional<dsl::ScoreFunction> &score, const std::string &params,
                      int count) {
    const Halide::Var batch("batch"), head("head"), query("query"), key("key");
    const dsl::Cell cell{batch, head, query, key};
    ParameterReads reads(params, count);
    if (mask) mask->allows(cell).accept(&reads);
    if (score) (*score)(Halide::Expr(0.0f), cell).accept(&reads);
}

} // namespace attune::generators
