#include "data_flow.h"

namespace attune::ptx {

namespace {

/** The fact after an instruction, in the direction of the analysis. */
bool passed(bool fact, Effect effect) { return effect == Effect::none ? fact : effect == Effect::sets; }

bool any(const std::vector<char> &facts, const std::vector<size_t> &blocks) {
    for (size_t block : blocks)
        if (facts[block]) return true;
    return false;
}

} // namespace

std::vector<char> true_before(const ControlFlow &flow, size_t instructions, const EffectOf &effect) {
    std::vector<char> result(instructions, 0), at_end(flow.blocks().size(), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 0; b < at_end.size(); ++b) {
            const Block &block = flow.blocks()[b];
            bool fact = any(at_end, block.predecessors);
            for (size_t i = block.begin; i < block.end; ++i) {
                result[i] = fact;
                fact = passed(fact, effect(i));
            }
            changed = changed || fact != static_cast<bool>(at_end[b]);
            at_end[b] = fact;
        }
    }
    return result;
}

std::vector<char> true_after(const ControlFlow &flow, size_t instructions, const EffectOf &effect) {
    std::vector<char> result(instructions, 0), at_begin(flow.blocks().size(), 0);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = at_begin.size(); b-- > 0;) {
            const Block &block = flow.blocks()[b];
            bool fact = any(at_begin, block.successors);
            for (size_t i = block.end; i-- > block.begin;) {
                result[i] = fact;
                fact = passed(fact, effect(i));
            }
            changed = changed || fact != static_cast<bool>(at_begin[b]);
            at_begin[b] = fact;
        }
    }
    return result;
}

} // namespace attune::ptx
