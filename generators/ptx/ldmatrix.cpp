#include "family.h"
#include "printer.h"
#include "warp_families.h"

namespace attune::ptx {

namespace {

constexpr size_t matrices = 4;

/** All results appear at the first call: nothing before its own call may read or write one of them. */
void check_results(const Body &body, const Family &family) {
    for (size_t r = 0; r < family.size(); ++r) {
        const std::string &result = family.results[r];
        for (size_t i = family.first; i < family.calls[r]; ++i)
            if (body.reads(i, result) || body.defines(i, result)) throw error_at(body[i], "register " + result + " of an ldmatrix is busy");
    }
}

} // namespace

void replace_ldmatrix(Body &body, size_t first) {
    const Family family = find_family(body, first, matrices);
    if (family.arguments.size() != 1) throw error_at(body[first], body[first].name + " takes an element number and a word");
    const Operand address = loaded_from(body, family.arguments[0], first);
    check_results(body, family);
    const bool transposed = body[first].name == "warp_ldmatrix_x4_trans";
    const std::string opcode = std::string("ldmatrix.sync.aligned.m8n8.x4") + (transposed ? ".trans" : "") + ".shared.b16";
    std::vector<Operand> results;
    for (const std::string &result : family.results)
        results.push_back(Operand::reg(result));
    const int line = body[first].line;
    for (size_t call : family.calls)
        body.erase(call);
    body.replace(first, {Body::make(line, opcode, {Operand::vector_of(results), address})});
}

void drop_address_loads(Body &body) {
    for (size_t i = 0; i < body.size(); ++i) {
        if (!body[i].is("ld") || !body[i].has("shared") || body[i].has("volatile")) continue;
        bool wanted = false;
        for (const std::string &reg : body.defines(i))
            wanted = wanted || body.uses_of(reg) > 0;
        if (!wanted) body.erase(i);
    }
}

} // namespace attune::ptx
