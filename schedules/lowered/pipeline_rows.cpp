#include "schedules/lowered/pipeline_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schedules/lowered/outermost_loops.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr std::size_t third = 2; // stage

// What a statement stores before a loop in it.
class StoredBefore : public IRVisitor {
public:
    StoredBefore(const For *loop, const Stmt &s) : loop(loop) { s.accept(this); }
    std::set<std::string> names;

private:
    using IRVisitor::visit;
    const For *const loop;
    bool reached = false;

    void visit(const For *op) override {
        reached = reached || op == loop;
        if (!reached) op->body.accept(this);
    }
    void visit(const Store *op) override {
        if (!reached) names.insert(op->name);
    }
};

// Whether a statement reads one of some buffers: all of it, or what comes after a loop in it.
class FindLoad : public IRVisitor {
public:
    explicit FindLoad(const std::set<std::string> &of, const For *after = nullptr) : of(of), after(after) {}
    std::string found;

private:
    using IRVisitor::visit;
    const std::set<std::string> &of;
    const For *after; // nullptr from there on

    void visit(const For *op) override {
        if (op == after)
            after = nullptr;
        else
            IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        if (!after && of.count(op->name) > 0) found = op->name;
        IRVisitor::visit(op);
    }
};

// What a pass of the loop over rows does, by pieces that come one after the other, each with what it needs of the names around.
class Pieces : public IRVisitor {
public:
    explicit Pieces(const Stmt &body) { body.accept(this); }
    std::vector<Stmt> all;

private:
    using IRVisitor::visit;
    Values around;

    void add(const Stmt &piece) {
        Stmt s = piece;
        for (auto let = around.rbegin(); let != around.rend(); ++let)
            if (stmt_uses_var(s, let->first)) {
                const std::string own = unique_name(let->first); // pieces go into each other
                s = LetStmt::make(own, let->second, substitute(let->first, Variable::make(let->second.type(), own), s));
            }
        all.push_back(s);
    }
    void visit(const LetStmt *op) override {
        around.emplace_back(op->name, op->value);
        op->body.accept(this);
        around.pop_back();
    }
    void visit(const Block *op) override {
        op->first.accept(this);
        op->rest.accept(this);
    }
    void visit(const ProducerConsumer *op) override { op->body.accept(this); }
    void visit(const IfThenElse *op) override { add(op); }
    void visit(const For *op) override { add(op); }
    void visit(const Store *op) override { add(op); }
    void visit(const Allocate *op) override { add(op); }
    void visit(const Evaluate *op) override { add(op); }
    void visit(const AssertStmt *op) override { add(op); }
};

// Leaves out conditions that hold in every pass of a loop, as they do in the last.
class WholeSteps : public IRMutator {
public:
    WholeSteps(const std::string &step, const Expr &last, const Values &names) : step(step), last(last), names(names) {}

private:
    using IRMutator::visit;
    const std::string &step;
    const Expr last;
    const Values &names;

    Stmt visit(const IfThenElse *op) override { return holds(op->condition) ? mutate(op->then_case) : IRMutator::visit(op); }
    bool holds(const Expr &condition) const {
        const LE *at_most = condition.as<LE>();
        if (!at_most || !expr_uses_var(condition, step)) return false;
        const Expr left = simplify(at_most->b - at_most->a), next = Variable::make(Halide::Int(32), step) + 1;
        const Expr less = simplify(left - substitute(step, next, left));
        return is_positive_const(less) && can_prove(substituted(names, substitute(step, last, left)) >= 0);
    }
};

// A piece with a loop along the row, and what follows it.
struct LoopPiece {
    Stmt around;
    std::vector<Stmt> after;
};

struct StagePieces {
    std::vector<Stmt> checks; // before all
    std::vector<LoopPiece> loops;

    std::vector<Stmt> in_order() const {
        std::vector<Stmt> all = checks;
        for (const LoopPiece &piece : loops) {
            all.push_back(piece.around);
            all.insert(all.end(), piece.after.begin(), piece.after.end());
        }
        return all;
    }
    StagePieces at_row(const std::string &row, const Expr &value) const {
        const auto moved = [&](const std::vector<Stmt> &statements) {
            std::vector<Stmt> all;
            for (const Stmt &s : statements)
                all.push_back(substitute(row, value, s));
            return all;
        };
        StagePieces other = {moved(checks), {}};
        for (const LoopPiece &piece : loops)
            other.loops.push_back({substitute(row, value, piece.around), moved(piece.after)});
        return other;
    }
};

using AllPieces = std::vector<StagePieces>;

AllPieces by_stages(const std::vector<Stmt> &pieces, const PipelineRows::Stages &stages) {
    AllPieces all(stages.size());
    std::size_t stage = 0;
    const auto begins = [&](const Stmt &piece, std::size_t of) {
        const std::size_t loop = all[of].loops.size();
        return loop < stages[of].size() && outermost_loops(piece, stages[of][loop].name).count == 1;
    };
    for (const Stmt &piece : pieces) {
        if (all[stage].loops.size() == stages[stage].size() && stage + 1 < stages.size() && begins(piece, stage + 1)) stage++;
        if (begins(piece, stage))
            all[stage].loops.push_back({piece, {}});
        else if (!all[stage].loops.empty())
            all[stage].loops.back().after.push_back(piece);
        else if (stored_in(piece).empty())
            all[stage].checks.push_back(piece);
        else
            throw Halide::CompileError("attune: what is to be pipelined stores something before " + stages[stage].front().name);
    }
    for (std::size_t of = 0; of < stages.size(); of++)
        if (all[of].loops.size() < stages[of].size())
            throw Halide::CompileError("attune: no loop of its own is left to pipeline of " + stages[of][all[of].loops.size()].name);
    return all;
}

// What is stored before the joined loop no other stage may read, as it reads another row's; nor the third what the first stores at all,
// nor what follows a stage's loop what the loop of an earlier one stores, since that is a later row's by then.
void check_what_is_read(const AllPieces &pieces, const PipelineRows::Stages &stages) {
    const auto check_found = [](const FindLoad &load, const std::string &by) {
        if (!load.found.empty())
            throw Halide::CompileError("attune: " + load.found + ", which another stage of a pipeline reads, is stored by " + by);
    };
    const auto check = [&](const std::set<std::string> &stored, std::size_t reader, const std::string &by) {
        FindLoad load(stored);
        for (const Stmt &s : pieces[reader].in_order())
            s.accept(&load);
        check_found(load, by);
    };
    const auto loop_of = [&](std::size_t stage, std::size_t i) {
        return outermost_loops(pieces[stage].loops[i].around, stages[stage][i].name).loop;
    };
    for (std::size_t stage = 0; stage < stages.size(); stage++)
        for (std::size_t i = 0; i < stages[stage].size(); i++) {
            const Stmt &around = pieces[stage].loops[i].around;
            const StoredBefore before(loop_of(stage, i), around);
            for (std::size_t other = 0; other < stages.size(); other++)
                if (other != stage) check(before.names, other, "what comes before " + stages[stage][i].name);
        }
    if (stages.size() > third)
        for (const Stmt &s : pieces.front().in_order())
            check(stored_in(s), third, "the first stage");
    for (std::size_t stage = 0; stage < stages.size(); stage++)
        for (std::size_t i = 0; i < stages[stage].size(); i++) {
            const std::set<std::string> stored = stored_in(loop_of(stage, i)->body);
            for (std::size_t later = stage + 1; later < stages.size(); later++)
                for (std::size_t j = 0; j < stages[later].size(); j++) {
                    FindLoad load(stored, loop_of(later, j));
                    pieces[later].loops[j].around.accept(&load);
                    for (const Stmt &s : pieces[later].loops[j].after)
                        s.accept(&load);
                    check_found(load, "the loop " + stages[stage][i].name);
                }
        }
}

bool has_all(const Stmt &s, const PipelineRows::Stages &stages) {
    return std::all_of(stages.begin(), stages.end(), [&](const PipelineRows::Stage &stage) {
        return std::all_of(stage.begin(), stage.end(),
                           [&](const PipelineRows::Loop &loop) { return outermost_loops(s, loop.name).count > 0; });
    });
}

// One loop along the rows, around which everything else goes.
class Joined {
public:
    /** `has_third`: whether there is a row before. `names` are bound around all. */
    Joined(const AllPieces &pieces, const PipelineRows::Stages &stages, const Expr &has_third, const Values &names)
        : pieces(pieces), stages(stages), has_third(has_third), name(unique_name("joined")) {
        const PipelineRows::Loop &loop = stages.front().front();
        const OutermostLoops first = outermost_loops(pieces.front().loops.front().around, loop.name);
        steps = simplify(substituted(first.names, first.loop->extent) / loop.passes);
        std::vector<Stmt> bodies;
        for (std::size_t stage = stages.size(); stage-- > 0;) // what is of the row before is read before it is overwritten
            add_bodies(bodies, stage);
        const Stmt body = WholeSteps(name, steps - 1, names).mutate(Block::make(bodies));
        all = For::make(name, 0, steps, ForType::Serial, Halide::Partition::Never, Halide::DeviceAPI::None, body);
        for (std::size_t stage = stages.size(); stage-- > 0;)
            put_around(stage);
    }
    Stmt all;

private:
    const AllPieces &pieces;
    const PipelineRows::Stages &stages;
    const Expr &has_third;
    const std::string name;
    Expr steps;

    Stmt of_stage(std::size_t stage, const Stmt &s) const { return stage == third ? IfThenElse::make(has_third, s) : s; }
    void add_bodies(std::vector<Stmt> &bodies, std::size_t stage) const {
        const Expr step = Variable::make(Halide::Int(32), name);
        for (std::size_t i = 0; i < stages[stage].size(); i++) {
            const int passes = stages[stage][i].passes;
            const For *loop = outermost_loops(pieces[stage].loops[i].around, stages[stage][i].name).loop;
            for (int pass = 0; pass < passes; pass++)
                bodies.push_back(of_stage(stage, substitute(loop->name, simplify(loop->min + step * passes + pass), loop->body)));
        }
    }
    void put_around(std::size_t stage) {
        for (std::size_t i = 0; i < stages[stage].size(); i++) {
            const LoopPiece &piece = pieces[stage].loops[i];
            const For *loop = outermost_loops(piece.around, stages[stage][i].name).loop;
            const Expr begun = simplify(steps * stages[stage][i].passes); // the rest fills no pass of the joined loop
            const Stmt rest = For::make(loop->name, loop->min + begun, loop->extent - begun, loop->for_type, loop->partition_policy,
                                        loop->device_api, loop->body);
            all = with_loop_replaced(piece.around, loop, Block::make(all, of_stage(stage, rest)));
            for (const Stmt &after : piece.after)
                all = Block::make(all, of_stage(stage, after));
        }
        for (const Stmt &check : pieces[stage].checks)
            all = Block::make(of_stage(stage, check), all);
    }
};

} // namespace

Stmt PipelineRows::visit(const LetStmt *op) {
    names.emplace_back(op->name, op->value);
    const Stmt s = IRMutator::visit(op);
    names.pop_back();
    return s;
}

Stmt PipelineRows::visit(const For *op) {
    if (op->for_type != ForType::Serial || !has_all(op->body, stages)) return IRMutator::visit(op);
    const AllPieces pieces = by_stages(Pieces(op->body).all, stages);
    check_what_is_read(pieces, stages);
    const Expr row = Variable::make(Halide::Int(32), op->name), first = op->min, last = op->min + op->extent - 1;
    const auto at_row = [&](std::size_t stage, const Expr &value) { return pieces[stage].at_row(op->name, value); };
    AllPieces in_turn = {at_row(0, min(row + 1, last)), pieces[1]};
    Stmt end = Evaluate::make(0);
    if (stages.size() > third) {
        in_turn.push_back(at_row(third, row - 1));
        end = Block::make(at_row(third, last).in_order());
    }
    const Stmt joined = Joined(in_turn, stages, row > first, names).all;
    const Stmt rows = For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, joined);
    const Stmt begin = Block::make(at_row(0, first).in_order());
    return IfThenElse::make(op->extent > 0, Block::make({begin, rows, end}));
}

} // namespace attune::schedules
