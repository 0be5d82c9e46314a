// Groups of asynchronous copies, and how long they may stay in flight.
//
// A thread's copies are closed to groups by cp.async.commit_group; cp.async.wait_group n waits until at most the n groups last closed by
// this thread are unfinished. What other threads may read after a barrier is what every thread waited for before it. So groups are closed
// and waited for right before barriers, which all threads reach equally often, whatever predicates the copies are under. A thread that
// copied nothing closes an empty group: the counts are the same in all threads.
//
// In general that wait is for everything: wait_group 0 is always right. Two kinds of groups may stay in flight:
//
// 1. Groups of a loop. The schedule promises that what iteration i copies is read, and its memory written again, from iteration
//    i + stages - 1 on. Say that every iteration closes m groups, at the barriers g_0 .. g_m-1 in this order. At g_k of iteration i the
//    groups up to iteration i - (stages - 1) must be finished. Since its last one, m (stages - 1) - (m - 1 - k) groups were closed, which
//    is how many may be left. Other groups closed in between (of inner loops, or under conditions) only make the wait longer.
//    That holds
//    - if the g_k are on every path through the loop's body, once: else fewer groups were closed than counted, and the wait would be too
//      short. Barriers under conditions that wait for everything don't count among the m.
//    - if copies don't begin in a later iteration, as those of a warm-up do: "if this is the first iteration, copy the first tiles" copies
//      what the same iteration reads. Such copies are found by their conditions, see runs_in_every_iteration: they are waited for in their
//      own block. A condition that changes with the iteration for another reason, such as the tail of the keys, is no different to this
//      pass: a schedule should clamp coordinates instead.
//    - if nothing between the loop's beginning and g_0 reads shared memory; else the wait must have come one iteration earlier, and one
//      stage less stays in flight.
//    - until the loop is left: the groups left over must be finished before anything touches shared memory again. The next barrier waits
//      for everything. If there is a path without one, the loop's groups don't stay in flight at all.
// 2. Groups before a loop: if every path leads from the barrier that closes it, over copies only, to a barrier that leaves at most one
//    group unfinished, that barrier does the waiting.
#include <algorithm>
#include <map>

#include "copy_parts.h"
#include "data_flow.h"
#include "opcodes.h"

namespace attune::ptx {

namespace {

class Waits {
public:
    Waits(Body &body, int stages) : body_(body), flow_(body), stages_(stages) {
        const auto effect = [&](size_t i) {
            if (is_barrier(body_[i])) return Effect::clears;
            return is_copy(body_[i]) ? Effect::sets : Effect::none;
        };
        const std::vector<char> copied = true_before(flow_, body_.size(), effect);
        for (size_t i = 0; i < body_.size(); ++i)
            if (is_barrier(body_[i]) && copied[i]) left_[i] = 0;
    }

    void place() {
        if (stages_ > 1 && flow_.is_reducible()) {
            for (const Loop &loop : flow_.loops())
                stream(loop);
            finish_loops();
            defer();
        }
        for (const auto &[barrier, left] : left_)
            insert(barrier, closes(barrier), left);
        for (size_t copy : at_once_)
            insert(end_of_copies(copy), true, 0);
    }

private:
    static constexpr int everything = 1 << 30; // left over: no wait

    bool closes(size_t barrier) const { return !only_waits_.count(barrier); }
    const Loop *loop_of(size_t i) const { return flow_.innermost(flow_.block_of(i)); }

    /** Groups of one loop stay in flight, if they may. */
    void stream(const Loop &loop) {
        std::vector<size_t> barriers;
        for (const auto &[barrier, left] : left_)
            if (loop_of(barrier) == &loop && is_in_every_iteration(loop, barrier)) barriers.push_back(barrier);
        if (barriers.empty()) return;
        std::sort(barriers.begin(), barriers.end(), [&](size_t a, size_t b) { return comes_before(a, b); });
        std::vector<size_t> late;
        if (!sort_copies(loop, barriers, late)) return;
        const int ahead = stages_ - 1 - (reads_before(loop, barriers[0]) ? 1 : 0);
        const int groups = static_cast<int>(barriers.size());
        for (int k = 0; k < groups; ++k)
            left_[barriers[k]] = std::max(0, groups * ahead - (groups - 1 - k));
        streamed_[&loop] = barriers;
        at_once_.insert(at_once_.end(), late.begin(), late.end());
    }

    bool is_in_every_iteration(const Loop &loop, size_t i) const {
        const size_t block = flow_.block_of(i);
        return block == loop.header || !flow_.reached(loop, loop.header, block)[loop.header];
    }

    bool comes_before(size_t a, size_t b) const {
        const size_t block_a = flow_.block_of(a), block_b = flow_.block_of(b);
        return block_a == block_b ? a < b : flow_.dominates(block_a, block_b);
    }

    /** Looks at all copies that one of the barriers closes. False: one is of another loop. `late`: those that begin in a later iteration.
     */
    bool sort_copies(const Loop &loop, const std::vector<size_t> &barriers, std::vector<size_t> &late) const {
        for (size_t i = 0; i < body_.size(); ++i) {
            if (!is_copy(body_[i]) || !is_closed_by(i, barriers)) continue;
            if (loop_of(i) != &loop) return false;
            if (!runs_in_every_iteration(body_, flow_, loop, i)) late.push_back(i);
        }
        return true;
    }

    bool is_closed_by(size_t copy, const std::vector<size_t> &barriers) const {
        const auto effect = [&](size_t i) {
            if (std::find(barriers.begin(), barriers.end(), i) != barriers.end()) return Effect::sets;
            return is_barrier(body_[i]) ? Effect::clears : Effect::none;
        };
        return true_after(flow_, body_.size(), effect)[copy];
    }

    /** Whether a path from the loop's beginning to the barrier touches shared memory other than by copies. */
    bool reads_before(const Loop &loop, size_t barrier) const {
        const size_t last = flow_.block_of(barrier);
        std::vector<char> blocks(flow_.blocks().size(), 0);
        if (last != loop.header) blocks = flow_.reached(loop, loop.header, last);
        blocks[loop.header] = 1;
        for (size_t i = 0; i < body_.size(); ++i) {
            const size_t block = flow_.block_of(i);
            const bool before = block == last ? i < barrier : blocks[block] != 0;
            if (before && loop.contains[block] && is_other_access(body_[i])) return true;
        }
        return false;
    }

    /** Groups that are left over when a loop is left. */
    void finish_loops() {
        for (auto &[loop, barriers] : streamed_) {
            std::vector<size_t> waits;
            if (!find_last_waits(*loop, waits)) {
                for (size_t barrier : barriers)
                    left_[barrier] = 0;
                continue;
            }
            for (size_t barrier : waits) {
                if (!left_.count(barrier)) only_waits_[barrier] = true;
                left_[barrier] = 0;
            }
        }
    }

    /** The next barriers after the loop. False: something touches shared memory before one. */
    bool find_last_waits(const Loop &loop, std::vector<size_t> &waits) const {
        std::vector<char> seen(flow_.blocks().size(), 0);
        std::vector<size_t> open;
        const auto visit = [&](size_t from) {
            for (size_t next : flow_.blocks()[from].successors) {
                if (loop.contains[next] && !loop.contains[from]) return false; // entered again
                if (!loop.contains[next] && !seen[next]) seen[next] = 1, open.push_back(next);
            }
            return true;
        };
        for (size_t block = 0; block < seen.size(); ++block)
            if (loop.contains[block]) visit(block);
        while (!open.empty()) {
            const Block &block = flow_.blocks()[open.back()];
            const size_t number = open.back();
            open.pop_back();
            bool waited = false;
            for (size_t i = block.begin; i < block.end && !waited; ++i) {
                if (is_other_access(body_[i]) || is_copy(body_[i])) return false;
                waited = is_barrier(body_[i]);
                if (waited) waits.push_back(i);
            }
            if (!waited && !visit(number)) return false;
        }
        return true;
    }

    /** Groups whose waiting the next barrier does. */
    void defer() {
        std::vector<size_t> deferred;
        for (const auto &[barrier, left] : left_)
            if (left == 0 && closes(barrier) && !loop_of(barrier) && next_waits(barrier)) deferred.push_back(barrier);
        for (size_t barrier : deferred)
            left_[barrier] = everything;
    }

    /** Whether every path from the barrier comes to one that leaves at most one group unfinished before it touches shared memory. */
    bool next_waits(size_t from) const {
        const auto waits = [&](size_t i) {
            const auto found = left_.find(i);
            return found != left_.end() && closes(i) && found->second <= 1 && loop_of(i);
        };
        const auto effect = [&](size_t i) {
            if (is_barrier(body_[i])) return waits(i) ? Effect::clears : Effect::sets;
            return is_other_access(body_[i]) ? Effect::sets : Effect::none;
        };
        return !true_after(flow_, body_.size(), effect)[from];
    }

    /** The end of the straight run of instructions that the copy stands in: its branch, or what follows. */
    size_t end_of_copies(size_t copy) const {
        size_t i = copy;
        while (i + 1 < body_.size() && flow_.block_of(i + 1) == flow_.block_of(copy) && !is_barrier(body_[i]) && !body_.ends_block(i))
            ++i;
        return is_barrier(body_[i]) || body_.ends_block(i) ? i : i + 1;
    }

    void insert(size_t before, bool closes, int left) {
        std::vector<Instruction> statements;
        const int line = body_[before].line;
        if (closes) statements.push_back(Body::make(line, "cp.async.commit_group", {}));
        if (left != everything) statements.push_back(Body::make(line, "cp.async.wait_group", {Operand::immediate(std::to_string(left))}));
        body_.put_before(before, std::move(statements));
    }

    Body &body_;
    ControlFlow flow_;
    int stages_;
    std::map<size_t, int> left_;        // how many groups each barrier leaves unfinished
    std::map<size_t, bool> only_waits_; // barriers that close no group
    std::map<const Loop *, std::vector<size_t>> streamed_;
    std::vector<size_t> at_once_; // copies that are waited for in their own block
};

} // namespace

void wait_for_copies(Kernel &kernel, int stages) {
    Body body(kernel);
    Waits(body, stages).place();
    body.finish();
}

} // namespace attune::ptx
