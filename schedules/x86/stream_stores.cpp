#include "schedules/x86/stream_stores.h"

#include <algorithm>
#include <vector>

#include "schedules/uses.h"

namespace attune::schedules::x86 {

using namespace Halide::Internal;
using Halide::Expr;

const Halide::Var streamed_row("streamed_row");

namespace {

// Few lines at a time, so that the memory reads and writes side by side: 1 KiB, or a short row. What is read is asked for so far ahead that
// it has come when it is wanted. Measured on Zen 5.
constexpr int bytes_per_line = 64, bytes_per_run = 1024, most_bytes_per_row = 4096, bytes_ahead = 8192, bytes_ahead_once = 6144;

// In the first-level cache, what is read later takes the place of what is read again: of the row itself, if that is longer than this, with
// what its channels are multiplied by; or of tables, where each element is read once. (A load that spans two lines wants them near: where
// rows begin within lines, the first level is faster all the same.) Measured on Zen 4, with 32 KiB.
constexpr int most_bytes_near = 8192;

const Halide::Var streamed_run("streamed_run"); // the loop over runs

int elements_per_run(const Halide::Type &type) { return bytes_per_run / type.bytes(); }

// Where a statement first stores to one buffer, and where it first loads from another. Its loops and names on the way there are put in.
class FirstAccess : public IRVisitor {
public:
    FirstAccess(const std::string &stored, const std::string &loaded) : stored(stored), loaded(loaded) {}

    Expr store, load; // indices, undefined where there is none
    Halide::Type type;

private:
    using IRVisitor::visit;
    const std::string &stored, &loaded;
    Values values;

    template <typename Op> void within(const Op *op, const Expr &value) {
        value.accept(this);
        values.emplace_back(op->name, value);
        op->body.accept(this);
        values.pop_back();
    }
    void visit(const Let *op) override { within(op, op->value); }
    void visit(const LetStmt *op) override { within(op, op->value); }
    void visit(const For *op) override { within(op, op->min); }
    Expr first_of(const Expr &index) const {
        const Ramp *ramp = index.as<Ramp>();
        return substituted(values, ramp ? ramp->base : index);
    }
    void visit(const Store *op) override {
        IRVisitor::visit(op);
        if (!store.defined() && op->name == stored) store = first_of(op->index), type = op->value.type().element_of();
    }
    void visit(const Load *op) override {
        IRVisitor::visit(op);
        if (!load.defined() && op->name == loaded && (op->type.is_scalar() || op->index.as<Ramp>())) load = first_of(op->index);
    }
};

// Sends the stores to a Func elsewhere, so much further down.
class Redirect : public IRMutator {
public:
    Redirect(const std::string &func, const std::string &to, const Expr &down) : func(func), to(to), down(down) {}

private:
    using IRMutator::visit;
    const std::string &func, &to;
    const Expr down;

    Stmt visit(const Store *op) override {
        if (op->name != func) return IRMutator::visit(op);
        const Ramp *ramp = op->index.as<Ramp>();
        if (!ramp && !op->index.type().is_scalar()) throw Halide::CompileError("attune: a streamed store isn't of elements side by side");
        const Expr index = ramp ? Ramp::make(ramp->base - down, ramp->stride, ramp->lanes) : op->index - down;
        return Store::make(to, op->value, index, Halide::Parameter(), op->predicate, ModulusRemainder());
    }
};

class LowerStreams : public IRMutator {
public:
    LowerStreams(const std::string &output, const StreamedReads &reads, int along, const char *function)
        : output(output), reads(reads), along(along), function(function) {}

private:
    using IRMutator::visit;
    const std::string output;
    const StreamedReads reads;
    const int along;
    const char *const function; // of the runtime
    bool streams = false;       // whether the statement just visited does
    Halide::Type element;       // of the output, if so
    struct Loop {
        const For *loop;
        size_t names; // how many of those below are bound around it
    };
    std::vector<Loop> loops; // around the statement, and names
    Values names;

    static Expr address(const std::string &buffer, const Expr &index, const Halide::Type &type) {
        const Expr base = Halide::reinterpret<uint64_t>(Variable::make(Halide::Handle(), buffer));
        return Halide::reinterpret(Halide::Handle(), base + Halide::cast<uint64_t>(index) * Expr(uint64_t(type.bytes())));
    }
    static Stmt call(const char *function, const std::vector<Expr> &arguments) {
        return Evaluate::make(Call::make(Halide::Int(32), function, arguments, Call::Extern));
    }

    Expr row_elements() const {
        const Expr buffer = Variable::make(Halide::type_of<halide_buffer_t *>(), output + ".buffer");
        return Call::make(Halide::Int(32), Call::buffer_get_extent, {buffer, along}, Call::PureExtern);
    }
    std::string rows_ahead() const { return output + ".rows_ahead"; }
    std::string next_is_far() const { return output + ".next_is_far"; }

    // Where that is read of which the run some rows later is made, or `otherwise`. The loop over rows goes on where the loop around it
    // takes its next step.
    Expr next(const FirstAccess &first, int level, const Expr &otherwise) const {
        if (level < 1 || !first.load.defined()) return otherwise;
        const For *rows = loops[level].loop, *outer = loops[level - 1].loop;
        const auto within = names.begin() + static_cast<std::ptrdiff_t>(loops[level - 1].names);
        const Expr row = Variable::make(Halide::Int(32), rows->name), step = Variable::make(Halide::Int(32), outer->name);
        const Expr later = row + Variable::make(Halide::Int(32), rows_ahead()), end = rows->min + rows->extent;
        const Expr at =
            substitute({{rows->name, select(later < end, later, later - rows->extent)}, {outer->name, select(later < end, step, step + 1)}},
                       substituted({within, names.end()}, first.load));
        return address(reads.input, at, first.type);
    }

    // What a run or a row, the loop's pass, stores to the output: to a buffer that is named here instead, and on from there.
    Stmt streamed(const Stmt &body, bool row_at_once, std::string &scratch) {
        FirstAccess first(output, reads.input);
        body.accept(&first);
        if (!first.store.defined()) return body;
        streams = true;
        const Halide::Type type = first.type;
        const int elements = row_at_once ? most_bytes_per_row / type.bytes() : elements_per_run(type);
        const Expr row = row_elements();
        element = type;
        const For *loop = loops.back().loop;
        const Expr run = Variable::make(Halide::Int(32), loop->name), last = loop->min + loop->extent - 1;
        const Expr count = row_at_once ? row : min(elements, row - run * elements);
        const Expr begins = row_at_once ? Expr(1) : select(run == loop->min, 1, 0);
        const Expr ends = row_at_once ? Expr(1) : select(run == last, 1, 0);
        const int rows = int(loops.size()) - (row_at_once ? 1 : 2); // the loop over them

        scratch = unique_name(output + ".run");
        const int line = bytes_per_line / type.bytes();
        const std::string index = scratch + ".index";
        const Expr at = Variable::make(first.store.type(), index);
        const Expr to = address(output, at, type), from = address(scratch, line, type);
        Stmt all = Redirect(output, scratch, at - line).mutate(body);
        const Expr far = Variable::make(Halide::Int(32), next_is_far());
        all = Block::make(all, call(function, {to, from, count * type.bytes(), begins, ends, next(first, rows, from), far}));
        return LetStmt::make(index, first.store, all);
    }

    // With a line before what is stored, for what is left of the run before, and one behind it, which vectors may reach.
    Stmt with_scratch(const std::string &scratch, bool row_at_once, const Stmt &body) const {
        const int bytes = (row_at_once ? most_bytes_per_row : bytes_per_run) + 2 * bytes_per_line;
        return Allocate::make(scratch, element, Halide::MemoryType::Stack, {bytes / element.bytes()}, const_true(), body);
    }

    Stmt visit(const LetStmt *op) override {
        names.emplace_back(op->name, op->value);
        Stmt s = IRMutator::visit(op);
        names.pop_back();
        return s;
    }

    Stmt visit(const For *op) override {
        const bool outer = streams;
        streams = false;
        loops.push_back({op, names.size()});
        Stmt body = mutate(op->body);
        std::string scratch;
        const bool row_at_once = ends_with(op->name, "." + streamed_row.name());
        if (row_at_once || ends_with(op->name, "." + streamed_run.name())) body = streamed(body, row_at_once, scratch);
        loops.pop_back();
        if (streams && op->for_type == ForType::Parallel) body = Block::make(body, call("attune_stream_end", {}));
        streams = streams || outer;
        Stmt all = For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
        if (!scratch.empty()) all = with_scratch(scratch, row_at_once, all);
        if (!loops.empty() || !streams) return all;
        streams = false;
        const Expr row = row_elements();
        const Expr far = reads.once ? row % (bytes_per_line / element.bytes()) == 0 : row > most_bytes_near / element.bytes();
        all = LetStmt::make(next_is_far(), select(far, 1, 0), all);
        return LetStmt::make(rows_ahead(), max(1, (reads.once ? bytes_ahead_once : bytes_ahead) / element.bytes() / row), all);
    }
};

} // namespace

// Vectors first, so that a run's loop over them ends with the row. Partitioned, the last run would be taken out of the loop.
void stream_runs(Halide::Stage stage, const Halide::Var &along, int lanes, const Halide::Type &type) {
    const Halide::Var step("step");
    stage.split(along, step, along, lanes, Halide::TailStrategy::GuardWithIf)
        .vectorize(along)
        .split(step, streamed_run, step, elements_per_run(type) / lanes, Halide::TailStrategy::GuardWithIf)
        .partition(streamed_run, Halide::Partition::Never);
}

Expr is_streamed(const Halide::Func &output) {
    Expr bytes = Expr(int64_t(output.type().bytes()));
    for (int i = 0; i < output.dimensions(); ++i)
        bytes *= Halide::cast<int64_t>(output.output_buffer().dim(i).extent());
    return bytes >= Call::make(Halide::Int(64), "attune_least_streamed_bytes", {}, Call::PureExtern);
}

Expr rows_are_streamed(const Halide::Func &output) {
    return is_streamed(output) && output.output_buffer().dim(0).extent() <= most_bytes_per_row / output.type().bytes();
}

void lower_streams(Halide::Pipeline pipeline, const Machine &machine, int along, const StreamedReads &reads) {
    const char *function = machine.float_lanes == 16 ? "attune_stream_avx512" : "attune_stream";
    pipeline.add_custom_lowering_pass(new LowerStreams(pipeline.outputs()[0].name(), reads, along, function));
}

} // namespace attune::schedules::x86
