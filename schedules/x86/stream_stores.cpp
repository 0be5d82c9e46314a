#include "schedules/x86/stream_stores.h"

#include <algorithm>
#include <vector>

namespace attune::schedules::x86 {

using namespace Halide::Internal;
using Halide::Expr;

const Halide::Var streamed_row("streamed_row");

namespace {

// Few lines at a time, so that the memory reads and writes side by side: 1 KiB, or a short row. What is read is asked for so far ahead that
// it has come when it is wanted. Measured on Zen 5, as is what follows.
constexpr int bytes_per_line = 64, bytes_per_run = 1024, most_bytes_per_row = 4096, bytes_ahead = 8192;

// An output of half of the third-level cache, of 32 MiB, fills it together with the input, and is written faster past it. One of 8 MiB
// isn't.
constexpr int64_t bytes_in_caches = int64_t{16} << 20;

const Halide::Var streamed_run("streamed_run"); // the loop over runs

int elements_per_run(const Halide::Type &type) { return bytes_per_run / type.bytes(); }

using Values = std::vector<std::pair<std::string, Expr>>; // what names stand for, outermost first

Expr substituted(const Values &values, Expr e) {
    for (auto value = values.rbegin(); value != values.rend(); ++value)
        e = substitute(value->first, value->second, e);
    return e;
}

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
    LowerStreams(const std::string &output, const std::string &input, int along, const char *function)
        : output(output), input(input), along(along), function(function) {}

private:
    using IRMutator::visit;
    const std::string output, input;
    const int along;
    const char *const function; // of the runtime
    bool streams = false;       // whether the statement just visited does
    int element_bytes = 0;      // if so
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
        return address(input, at, first.type);
    }

    Stmt streamed(const Stmt &body, bool row_at_once) {
        FirstAccess first(output, input);
        body.accept(&first);
        if (!first.store.defined()) return body;
        streams = true;
        const Halide::Type index_type = first.store.type(), type = first.type;
        const int elements = row_at_once ? most_bytes_per_row / type.bytes() : elements_per_run(type);
        const Expr row = row_elements();
        element_bytes = type.bytes();
        const Expr run = Variable::make(Halide::Int(32), loops.back().loop->name);
        const Expr count = row_at_once ? row : min(elements, row - run * elements);
        const int rows = int(loops.size()) - (row_at_once ? 1 : 2); // the loop over them

        // As far into a line as where it goes, so that the copy's vectors are aligned at both ends.
        const std::string scratch = unique_name(output + ".run"), index = scratch + ".index", into_line = scratch + ".into_line";
        const Expr at = Variable::make(index_type, index), in = Variable::make(index_type, into_line);
        const Expr to = address(output, at, type), from = address(scratch, in, type);
        Stmt all = Redirect(output, scratch, at - in).mutate(body);
        all = Block::make(all, call(function, {to, from, count * type.bytes(), next(first, rows, from)}));
        all = Allocate::make(scratch, type, Halide::MemoryType::Stack, {elements + bytes_per_line / type.bytes()}, const_true(), all);
        const Expr bytes_in = Halide::reinterpret<uint64_t>(to) % bytes_per_line;
        all = LetStmt::make(into_line, Halide::cast(index_type, bytes_in / type.bytes()), all);
        return LetStmt::make(index, first.store, all);
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
        const bool row_at_once = ends_with(op->name, "." + streamed_row.name());
        if (row_at_once || ends_with(op->name, "." + streamed_run.name())) body = streamed(body, row_at_once);
        loops.pop_back();
        if (streams && op->for_type == ForType::Parallel) body = Block::make(body, call("attune_stream_end", {}));
        streams = streams || outer;
        const Stmt all = For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
        if (!loops.empty() || !streams) return all;
        streams = false;
        return LetStmt::make(rows_ahead(), max(1, (bytes_ahead / element_bytes) / row_elements()), all);
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
    return bytes >= Expr(bytes_in_caches);
}

Expr rows_are_streamed(const Halide::Func &output) {
    return is_streamed(output) && output.output_buffer().dim(0).extent() <= most_bytes_per_row / output.type().bytes();
}

void lower_streams(Halide::Pipeline pipeline, const Machine &machine, const std::string &input, int along) {
    const char *function = machine.float_lanes == 16 ? "attune_stream_avx512" : "attune_stream";
    pipeline.add_custom_lowering_pass(new LowerStreams(pipeline.outputs()[0].name(), input, along, function));
}

} // namespace attune::schedules::x86
