// Halide ends the production of every function with a barrier. Where two functions are only copied one after the other, one is enough.
#include "copy_parts.h"
#include "data_flow.h"
#include "opcodes.h"

namespace attune::ptx {

namespace {

EffectOf effect_of(const Body &body, bool copies_too) {
    return [&body, copies_too](size_t i) {
        if (is_barrier(body[i])) return Effect::clears;
        return is_ordered(body[i]) || (copies_too && is_copy(body[i])) ? Effect::sets : Effect::none;
    };
}

/** By barrier: whether all barriers that come next, or all that come before, are in the same innermost loop. */
struct Neighbours {
    std::vector<char> next_elsewhere, last_elsewhere;

    Neighbours(const Body &body, const ControlFlow &flow, size_t barrier) {
        const Loop *const loop = flow.innermost(flow.block_of(barrier));
        const auto effect = [&](size_t i) {
            if (!is_barrier(body[i])) return Effect::none;
            return flow.innermost(flow.block_of(i)) == loop ? Effect::clears : Effect::sets;
        };
        next_elsewhere = true_after(flow, body.size(), effect);
        last_elsewhere = true_before(flow, body.size(), effect);
    }
};

/** A barrier with only copies, or nothing, between it and the barriers before it, and the same after it; or one with nothing before it,
 * which does the work of the one before a second time. Where those barriers are not in the same loop it stays: it closes the copies of one
 * loop before those of another begin, and waits for what a loop leaves over. */
size_t find_needless(const Body &body, const ControlFlow &flow) {
    const std::vector<char> before = true_before(flow, body.size(), effect_of(body, false));
    const std::vector<char> after = true_after(flow, body.size(), effect_of(body, false));
    const std::vector<char> anything_before = true_before(flow, body.size(), effect_of(body, true));
    for (size_t i = 0; i < body.size(); ++i) {
        if (!is_barrier(body[i]) || (anything_before[i] && (before[i] || after[i]))) continue;
        const Neighbours neighbours(body, flow, i);
        if (anything_before[i] ? !neighbours.next_elsewhere[i] : !neighbours.last_elsewhere[i]) return i;
    }
    return body.size();
}

} // namespace

void merge_copy_barriers(Kernel &kernel) {
    while (true) {
        Body body(kernel);
        const ControlFlow flow(body);
        const size_t needless = find_needless(body, flow);
        if (needless == body.size()) return;
        body.erase(needless);
        body.finish();
    }
}

void fence_for_wgmma(Kernel &kernel) {
    Body body(kernel);
    bool any = false;
    for (size_t i = 0; i < body.size(); ++i)
        any = any || body[i].is("wgmma.mma_async");
    if (!any) return;
    const auto effect = [&](size_t i) {
        if (is_barrier(body[i])) return Effect::clears;
        const bool writes = is_copy(body[i]) || body[i].is("cp.async.wait_group") || (writes_memory(body[i]) && is_other_access(body[i]));
        return writes ? Effect::sets : Effect::none;
    };
    const ControlFlow flow(body);
    const std::vector<char> written = true_before(flow, body.size(), effect);
    for (size_t i = 0; i < body.size(); ++i)
        if (is_barrier(body[i]) && written[i]) body.put_before(i, {Body::make(body[i].line, "fence.proxy.async.shared::cta", {})});
    body.finish();
}

} // namespace attune::ptx
