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
//    - if every copy of the loop goes to another place than the iteration before. A tile with one place only is read at once.
//    - from the second iteration on, where some copies are under conditions that change from iteration to iteration, or in inner loops:
//      they may be a warm-up, which copies in the first iteration what is read in the same. That iteration then waits for everything,
//      by a predicate that is set where the loop is entered.
//    - if nothing between the loop's beginning and g_0 reads shared memory; else the wait must have come one iteration earlier, and one
//      stage less stays in flight.
//    - until the loop is left: the groups left over must be finished before anything touches shared memory again. The next barrier waits
//      for everything. If there is a path without one, the loop's groups don't stay in flight at all.
//    Where a loop has two barriers, one that only closes copies and then one after all that is read, the first is erased: what an iteration
//    copies is read in a later one, so that the second may close it as well.
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

    /** A barrier that only closes copies, where the loop has one more, at the end of what it reads; or the size of the body. */
    size_t find_early() const {
        if (stages_ == 1 || !flow_.is_reducible()) return body_.size();
        const std::vector<char> ordered = true_before(flow_, body_.size(), [&](size_t i) {
            if (is_barrier(body_[i])) return Effect::clears;
            return is_ordered(body_[i]) ? Effect::sets : Effect::none;
        });
        for (const auto &[barrier, left] : left_) {
            const Loop *const loop = loop_of(barrier);
            if (!loop || ordered[barrier] || !is_first_of_two(*loop, barrier)) continue;
            bool warms_up = false;
            if (may_stay_in_flight(*loop, {barrier}, warms_up) && !warms_up) return barrier;
        }
        return body_.size();
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
        for (const auto &[loop, predicate] : warm_up_)
            set_at_entries(*loop, predicate);
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
        bool warms_up = false;
        if (!may_stay_in_flight(loop, barriers, warms_up)) return;
        const int ahead = stages_ - 1 - (reads_before(loop, barriers[0]) ? 1 : 0);
        const int groups = static_cast<int>(barriers.size());
        for (int k = 0; k < groups; ++k)
            left_[barriers[k]] = std::max(0, groups * ahead - (groups - 1 - k));
        streamed_[&loop] = barriers;
        if (warms_up) warm_up_[&loop] = Operand::reg(body_.fresh("pred"));
    }

    bool is_in_every_iteration(const Loop &loop, size_t i) const {
        const size_t block = flow_.block_of(i);
        return block == loop.header || !flow_.reached(loop, loop.header, block)[loop.header];
    }

    /** Whether every iteration has this barrier and, as the next before the loop can be left, one other, and the loop has no more. */
    bool is_first_of_two(const Loop &loop, size_t barrier) const {
        std::vector<size_t> others;
        for (size_t i = 0; i < body_.size(); ++i)
            if (i != barrier && is_barrier(body_[i]) && loop_of(i) == &loop) others.push_back(i);
        if (others.size() != 1 || !is_in_every_iteration(loop, barrier) || !is_in_every_iteration(loop, others[0])) return false;
        if (!comes_before(barrier, others[0])) return false;
        const size_t first = flow_.block_of(barrier), last = flow_.block_of(others[0]);
        if (first == last) return true;
        std::vector<char> between = flow_.reached(loop, first, last);
        between[first] = 1;
        for (size_t i = 0; i < body_.size(); ++i)
            if (i != barrier && between[flow_.block_of(i)] && is_barrier(body_[i])) return false; // of an inner loop
        for (size_t block = 0; block < between.size(); ++block)
            for (size_t next : flow_.blocks()[block].successors)
                if (between[block] && !loop.contains[next]) return false;
        return true;
    }

    bool comes_before(size_t a, size_t b) const {
        const size_t block_a = flow_.block_of(a), block_b = flow_.block_of(b);
        return block_a == block_b ? a < b : flow_.dominates(block_a, block_b);
    }

    /** Whether all copies that the loop's barriers close are its own and move with it. `warms_up`: some don't run in every iteration. */
    bool may_stay_in_flight(const Loop &loop, const std::vector<size_t> &barriers, bool &warms_up) const {
        const std::vector<char> closed = come_before(barriers);
        for (size_t i = 0; i < body_.size(); ++i) {
            if (!is_copy(body_[i]) || !closed[i]) continue;
            const bool own = loop.contains[flow_.block_of(i)] != 0;
            if (!own || !moves_with_loop(body_, flow_, loop, body_[i].operands[0], i)) return false;
            warms_up = warms_up || loop_of(i) != &loop || !runs_in_every_iteration(body_, flow_, loop, i);
        }
        return true;
    }

    /** By instruction: whether one of these barriers may come next. */
    std::vector<char> come_before(const std::vector<size_t> &barriers) const {
        return true_after(flow_, body_.size(), [&](size_t i) {
            if (!is_barrier(body_[i])) return Effect::none;
            return std::find(barriers.begin(), barriers.end(), i) != barriers.end() ? Effect::sets : Effect::clears;
        });
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

    /** Whether every path from the barrier comes to one that finishes its group, before it touches shared memory. A barrier in a loop may
     * leave the group that it closes itself; where the first iteration waits for everything, it does so here. */
    bool next_waits(size_t from) const {
        const auto waits = [&](size_t i) {
            const auto found = left_.find(i);
            if (found == left_.end()) return false;
            return closes(i) ? loop_of(i) && (found->second <= 1 || warm_up_.count(loop_of(i))) : found->second == 0;
        };
        const auto effect = [&](size_t i) {
            if (is_barrier(body_[i])) return waits(i) ? Effect::clears : Effect::sets;
            return is_other_access(body_[i]) ? Effect::sets : Effect::none;
        };
        return !true_after(flow_, body_.size(), effect)[from];
    }

    void insert(size_t before, bool closes, int left) {
        std::vector<Instruction> statements;
        const int line = body_[before].line;
        if (closes) statements.push_back(Body::make(line, "cp.async.commit_group", {}));
        const auto warm_up = left > 0 && left != everything ? warm_up_.find(loop_of(before)) : warm_up_.end();
        if (warm_up != warm_up_.end()) {
            statements.push_back(wait(line, 0));
            statements.back().guard = warm_up->second.name;
        }
        if (left != everything) statements.push_back(wait(line, left));
        if (warm_up != warm_up_.end() && before == streamed_.at(warm_up->first).back())
            statements.push_back(Body::make(line, "mov.pred", {warm_up->second, Operand::immediate("0")}));
        body_.put_before(before, std::move(statements));
    }

    static Instruction wait(int line, int left) {
        return Body::make(line, "cp.async.wait_group", {Operand::immediate(std::to_string(left))});
    }

    /** Sets the predicate of the first iteration wherever the loop is entered. */
    void set_at_entries(const Loop &loop, const Operand &predicate) {
        for (size_t before : flow_.blocks()[loop.header].predecessors) {
            if (loop.contains[before]) continue;
            const Block &block = flow_.blocks()[before];
            const size_t last = block.end - 1;
            const size_t at = body_.ends_block(last) && body_[last].is_code() ? last : block.end;
            body_.put_before(at, {Body::make(body_[last].line, "mov.pred", {predicate, Operand::immediate("-1")})});
        }
    }

    Body &body_;
    ControlFlow flow_;
    int stages_;
    std::map<size_t, int> left_;        // how many groups each barrier leaves unfinished
    std::map<size_t, bool> only_waits_; // barriers that close no group
    std::map<const Loop *, std::vector<size_t>> streamed_;
    std::map<const Loop *, Operand> warm_up_; // the predicate of the first iteration
};

} // namespace

void merge_early_barriers(Kernel &kernel, int stages) {
    while (true) {
        Body body(kernel);
        const size_t early = Waits(body, stages).find_early();
        if (early == body.size()) return;
        body.erase(early);
        body.finish();
    }
}

void wait_for_copies(Kernel &kernel, int stages) {
    Body body(kernel);
    Waits(body, stages).place();
    body.finish();
}

} // namespace attune::ptx
