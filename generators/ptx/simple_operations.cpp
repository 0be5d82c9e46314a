#include <algorithm>

#include "parser.h"
#include "printer.h"
#include "warp_families.h"

namespace attune::ptx {

namespace {

// .rn keeps ptxas from contracting or reordering; .NaN makes a NaN win, as it does in the semantics of softmax.
constexpr SimpleOperation operations[] = {
    {"warp_shfl_bfly_f32", 2, "shfl.sync.bfly.b32 $r, $0, $1, 31, -1;"},
    {"warp_cvt_bf16x2", 2, "cvt.rn.bf16x2.f32 $r, $1, $0;"}, // the first source becomes the upper half
    {"warp_cvt_f16x2", 2, "cvt.rn.f16x2.f32 $r, $1, $0;"},
    {"warp_max", 2, "max.NaN.f32 $r, $0, $1;"},
    {"warp_larger", 2, "max.f32 $r, $0, $1;"},
    {"warp_ex2", 1, "ex2.approx.ftz.f32 $r, $0;"},
    {"warp_rcp", 1, "rcp.approx.ftz.f32 $r, $0;"},
    {"warp_lg2", 1, "lg2.approx.ftz.f32 $r, $0;"},
    {"warp_select_f32", 3, "setp.ne.s32 $p, $0, 0; selp.f32 $r, $1, $2, $p;"},
    {"warp_select_u32", 3, "setp.ne.s32 $p, $0, 0; selp.b32 $r, $1, $2, $p;"},
    {"warp_fma", 3, "fma.rn.f32 $r, $0, $1, $2;"},
    {"warp_fma_bf16x2", 3, "fma.rn.bf16x2 $r, $0, $1, $2;"},
    {"warp_fma_f16x2", 3, "fma.rn.f16x2 $r, $0, $1, $2;"},
    {"warp_add", 2, "add.rn.f32 $r, $0, $1;"},
    {"warp_sub", 2, "sub.rn.f32 $r, $0, $1;"},
    {"warp_mul", 2, "mul.rn.f32 $r, $0, $1;"},
    {"warp_equal", 2, "setp.eq.f32 $p, $0, $1; selp.b32 $r, 1, 0, $p;"},
    {"warp_exceeds", 2, "setp.gtu.f32 $p, $0, $1; selp.b32 $r, 1, 0, $p;"},
    {"warp_xor", 2, "xor.b32 $r, $0, $1;"},
    {"warp_opaque", 1, "mov.b32 $r, $0;"},
    {"warp_any", 1, "setp.ne.s32 $p, $0, 0; vote.sync.any.pred $q, $p, -1; selp.b32 $r, 1, 0, $q;"},
};

/** The operation's text for one call. */
std::string filled(Body &body, const Instruction &call, const std::string &pattern) {
    std::string p, q, text;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '$') {
            text += pattern[i];
            continue;
        }
        const char what = pattern[++i];
        std::string &predicate = what == 'p' ? p : q;
        if ((what == 'p' || what == 'q') && predicate.empty()) predicate = body.fresh("pred");
        if (what == 'r')
            text += print(call.operands[0]);
        else if (what == 'p' || what == 'q')
            text += predicate;
        else
            text += print(body.in_register(call.operands[1 + (what - '0')]));
    }
    return text;
}

} // namespace

const SimpleOperation *find_simple_operation(const std::string &name) {
    const auto found = std::find_if(std::begin(operations), std::end(operations), [&](const SimpleOperation &o) { return name == o.name; });
    return found == std::end(operations) ? nullptr : found;
}

void replace_simple(Body &body, size_t at, const SimpleOperation &operation) {
    const Instruction call = body[at];
    const size_t arguments = call.operands.size() - call.results;
    if (call.results != 1 || arguments != operation.arguments)
        throw error_at(call, call.name + " takes " + std::to_string(operation.arguments) + " arguments and returns a value; here it has " +
                                 std::to_string(arguments));
    body.replace(at, parse_statements(filled(body, call, operation.text), call.line));
}

} // namespace attune::ptx
