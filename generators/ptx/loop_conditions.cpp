#include <unordered_map>

#include "copy_parts.h"
#include "opcodes.h"

namespace attune::ptx {

namespace {

/** Which registers hold the same value in every iteration of a loop. */
class Invariance {
public:
    Invariance(const Body &body, const ControlFlow &flow, const Loop &loop) : body_(body) {
        for (size_t i = 0; i < body.size(); ++i)
            if (loop.contains[flow.block_of(i)])
                for (const std::string &reg : body.defines(i))
                    definitions_[reg].push_back(i);
    }

    bool holds(const std::string &reg) {
        const auto known = known_.find(reg);
        if (known != known_.end()) return known->second;
        known_[reg] = false; // one that depends on itself changes
        return known_[reg] = compute(reg);
    }

private:
    bool compute(const std::string &reg) {
        const auto found = definitions_.find(reg);
        if (found == definitions_.end()) return true;
        const size_t at = found->second[0];
        if (found->second.size() > 1 || !depends_on_operands_only(body_[at])) return false;
        for (const std::string &read : body_.reads(at))
            if (!holds(read)) return false;
        return true;
    }

    static bool depends_on_operands_only(const Instruction &instruction) {
        if (!instruction.is_code() || !instruction.guard.empty()) return false;
        for (const char *opcode : {"ld", "ldu", "atom", "ldmatrix", "shfl", "vote", "match", "activemask", "redux", "bar", "barrier"})
            if (instruction.is(opcode)) return instruction.is("ld.param");
        return true;
    }

    const Body &body_;
    std::unordered_map<std::string, std::vector<size_t>> definitions_; // inside the loop
    std::unordered_map<std::string, bool> known_;
};

} // namespace

bool runs_in_every_iteration(const Body &body, const ControlFlow &flow, const Loop &loop, size_t copy) {
    const size_t block = flow.block_of(copy);
    if (block == loop.header) return true;
    Invariance invariance(body, flow, loop);
    const std::vector<char> iteration = flow.reached(loop, loop.header, ControlFlow::none);
    for (size_t b = 0; b < flow.blocks().size(); ++b) {
        if ((!iteration[b] && b != loop.header) || b == block || flow.blocks()[b].successors.size() < 2) continue;
        const bool leads_there = flow.reached(loop, b, ControlFlow::none)[block];
        const bool leads_around = flow.reached(loop, b, block)[loop.header];
        if (!leads_there || !leads_around) continue;
        for (const std::string &reg : body.reads(flow.blocks()[b].end - 1))
            if (!invariance.holds(reg)) return false;
    }
    return true;
}

} // namespace attune::ptx
