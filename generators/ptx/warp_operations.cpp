#include "warp_operations.h"

#include "printer.h"
#include "warp_families.h"

namespace attune::ptx {

namespace {

bool begins_with(const std::string &text, const std::string &prefix) { return text.compare(0, prefix.size(), prefix) == 0; }

bool is_mma(const std::string &name) {
    for (const char *known : {"warp_mma_m16n8k16_bf16", "warp_mma_m16n8k16_f16"})
        if (name == known || name == std::string(known) + "_ahead") return true;
    return false;
}

void replace_call(Body &body, size_t call) {
    const std::string name = body[call].name;
    if (const SimpleOperation *operation = find_simple_operation(name))
        replace_simple(body, call, *operation);
    else if (is_mma(name))
        replace_mma(body, call);
    else if (name == "warp_ldmatrix_x4" || name == "warp_ldmatrix_x4_trans")
        replace_ldmatrix(body, call);
    else if (begins_with(name, "warp_wgmma_"))
        replace_wgmma(body, call);
    else if (is_warp_operation(name))
        throw error_at(body[call], "unknown warp operation " + name);
    else
        throw error_at(body[call], "unknown function " + name);
}

} // namespace

bool is_warp_operation(const std::string &name) { return begins_with(name, "warp_"); }

void replace_warp_operations(Kernel &kernel, const std::set<std::string> &functions) {
    Body body(kernel);
    bool any = false;
    for (size_t i = 0; i < body.size(); ++i) {
        if (!body[i].is_call() || functions.count(body[i].name)) continue;
        replace_call(body, i);
        any = true;
    }
    if (any) drop_address_loads(body);
    body.finish();
}

} // namespace attune::ptx
