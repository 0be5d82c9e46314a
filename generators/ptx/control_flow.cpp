#include "control_flow.h"

#include "opcodes.h"
#include "printer.h"

namespace attune::ptx {

namespace {

using Kind = Instruction::Kind;

/** Labels that a branch may go to. */
std::vector<std::string> targets(const Body &body, size_t i) {
    const Instruction &branch = body[i];
    if (branch.is("bra")) return {branch.operands[0].name};
    if (!branch.is("brx.idx")) return {};
    for (size_t t = 0; t < body.size(); ++t) {
        if (body[t].kind != Kind::branch_targets || body[t].name != branch.operands[1].name) continue;
        std::vector<std::string> labels;
        for (const Operand &operand : body[t].operands)
            labels.push_back(operand.name);
        return labels;
    }
    throw error_at(branch, "the branch's targets are unknown");
}

} // namespace

ControlFlow::ControlFlow(const Body &body) {
    split(body);
    connect(body);
    find_dominators();
    find_loops();
    check_reducible();
}

void ControlFlow::split(const Body &body) {
    block_of_.resize(body.size());
    blocks_.push_back({});
    for (size_t i = 0; i < body.size(); ++i) {
        const bool label = body[i].kind == Kind::label;
        if (label && i > blocks_.back().begin) {
            blocks_.back().end = i;
            blocks_.push_back({i, i, {}, {}});
        }
        block_of_[i] = blocks_.size() - 1;
        blocks_.back().end = i + 1;
        if (body.ends_block(i) && !label && i + 1 < body.size()) blocks_.push_back({i + 1, i + 1, {}, {}});
    }
}

void ControlFlow::connect(const Body &body) {
    std::unordered_map<std::string, size_t> labels;
    for (size_t i = 0; i < body.size(); ++i)
        if (body[i].kind == Kind::label) labels[body[i].name] = block_of_[i];
    for (size_t b = 0; b < blocks_.size(); ++b) {
        Block &block = blocks_[b];
        const size_t last = block.end - 1;
        const bool jumps = block.end > block.begin && body.ends_block(last) && body[last].is_code();
        if (jumps)
            for (const std::string &label : targets(body, last)) {
                const auto found = labels.find(label);
                if (found == labels.end()) throw error_at(body[last], "there is no label " + label);
                block.successors.push_back(found->second);
            }
        if ((!jumps || !body[last].guard.empty()) && b + 1 < blocks_.size()) block.successors.push_back(b + 1);
    }
    drop_unreachable();
}

/** Code after a trap can't be reached. It must not count as a way into what follows it. */
void ControlFlow::drop_unreachable() {
    std::vector<char> seen(blocks_.size(), 0);
    std::vector<size_t> open = {0};
    seen[0] = 1;
    while (!open.empty()) {
        const size_t block = open.back();
        open.pop_back();
        for (size_t next : blocks_[block].successors) {
            blocks_[next].predecessors.push_back(block);
            if (!seen[next]) seen[next] = 1, open.push_back(next);
        }
    }
    for (size_t b = 0; b < blocks_.size(); ++b)
        if (!seen[b]) blocks_[b].successors.clear();
}

void ControlFlow::find_dominators() {
    const size_t n = blocks_.size();
    dominators_.assign(n, std::vector<char>(n, 1));
    dominators_[0].assign(n, 0);
    dominators_[0][0] = 1;
    for (size_t b = 1; b < n; ++b)
        if (blocks_[b].predecessors.empty()) dominators_[b].assign(n, 0), dominators_[b][b] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t b = 1; b < n; ++b)
            for (size_t a = 0; a < n; ++a) {
                if (a == b || !dominators_[b][a]) continue;
                for (size_t before : blocks_[b].predecessors)
                    if (!dominators_[before][a]) {
                        dominators_[b][a] = 0;
                        changed = true;
                        break;
                    }
            }
    }
}

void ControlFlow::find_loops() {
    for (size_t header = 0; header < blocks_.size(); ++header) {
        Loop loop;
        loop.header = header;
        loop.contains.assign(blocks_.size(), 0);
        std::vector<size_t> open;
        const auto add = [&](size_t block) {
            if (loop.contains[block]) return;
            loop.contains[block] = 1;
            ++loop.blocks;
            open.push_back(block);
        };
        for (size_t latch : blocks_[header].predecessors) {
            if (!dominates(header, latch)) continue;
            if (loop.blocks == 0) loop.contains[header] = 1, loop.blocks = 1;
            add(latch);
        }
        while (!open.empty()) {
            const size_t block = open.back();
            open.pop_back();
            for (size_t before : blocks_[block].predecessors)
                add(before);
        }
        if (loop.blocks > 0) loops_.push_back(std::move(loop));
    }
}

/** Without the edges back to headers, what is left must have no cycle. */
void ControlFlow::check_reducible() {
    std::vector<size_t> waiting(blocks_.size(), 0), open;
    for (size_t b = 0; b < blocks_.size(); ++b) {
        for (size_t before : blocks_[b].predecessors)
            waiting[b] += !dominates(b, before);
        if (waiting[b] == 0) open.push_back(b);
    }
    size_t ordered = 0;
    for (; !open.empty(); ++ordered) {
        const size_t block = open.back();
        open.pop_back();
        for (size_t next : blocks_[block].successors)
            if (!dominates(next, block) && --waiting[next] == 0) open.push_back(next);
    }
    reducible_ = ordered == blocks_.size();
}

const Loop *ControlFlow::innermost(size_t block) const {
    const Loop *found = nullptr;
    for (const Loop &loop : loops_)
        if (loop.contains[block] && (!found || loop.blocks < found->blocks)) found = &loop;
    return found;
}

std::vector<char> ControlFlow::reached(const Loop &loop, size_t from, size_t without) const {
    std::vector<char> seen(blocks_.size(), 0);
    std::vector<size_t> open = {from};
    while (!open.empty()) {
        const size_t block = open.back();
        open.pop_back();
        for (size_t next : blocks_[block].successors) {
            if (seen[next] || !loop.contains[next] || next == without) continue;
            seen[next] = 1;
            if (next != loop.header) open.push_back(next);
        }
    }
    return seen;
}

} // namespace attune::ptx
