#include "schedules/x86/stream_stores.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/loading.h"
#include "dsl/prefetch.h"
#include "schedules/lowered/accesses.h"
#include "schedules/lowered/uses.h"

namespace attune::schedules::x86 {

using namespace Halide::Internal;
using dsl::bytes_per_line;
using Halide::Expr;

const Halide::Var streamed_row("streamed_row"), streamed_step("streamed_step"), streamed_whole_row("streamed_whole_row");

namespace {

// Few lines at a time, so that the memory reads and writes side by side: 1 KiB, or a short row. What is read is asked for so far ahead that
// it has come when it is wanted: rows that are read twice, as far as the runtime says, since that depends on the CPU. Measured on Zen 5.
constexpr int bytes_per_run = 1024, most_bytes_per_row = 4096, bytes_ahead_once = 6144;

// In the first-level cache, what is read later takes the place of what is read again: of the row itself, if that is longer than this, with
// what its channels are multiplied by; or of tables, where each element is read once. (A load that spans two lines wants them near: where
// rows begin within lines, the first level is faster all the same.) Measured on Zen 4, with 32 KiB.
constexpr int most_bytes_near = 8192;

// Beside what is streamed, its buffer has what comes before it, and what vectors may reach behind.
constexpr int bytes_beside = bytes_before_stream + most_bytes_whole;

// A part is short, so that few instructions lie between what the next one reads and this one, and its rows may begin within a line: it is
// stored to one page, since a store that spans two takes hundreds of cycles.
constexpr int least_bytes_per_part = 512, bytes_on_a_page = 2 * least_bytes_per_part + bytes_beside;

// The loop over runs, and that which stores rows that go together, or as a part of a stream.
const Halide::Var streamed_run("streamed_run"), streamed_rows("streamed_rows");
const Halide::Var streamed_in_part("streamed_in_part"), streamed_in_turn("streamed_in_turn"), streamed_part("streamed_part");

// Streams that take turns, and how far apart the buffers are that they go on from: none of them spans two pages, and no two lie at the same
// place of one.
constexpr int most_in_turn = 8, bytes_per_turn = bytes_per_page + 256;
static_assert(most_bytes_per_row + bytes_beside <= bytes_per_turn);
static_assert((most_in_turn - 1) * (bytes_per_turn - bytes_per_page) + bytes_on_a_page <= bytes_per_page);

// What a function of the runtime says of this CPU.
Expr of_cpu(const char *function) { return Call::make(Halide::Int(32), function, {}, Call::PureExtern); }

int elements_per_run(const Halide::Type &type) { return bytes_per_run / type.bytes(); }

class LowerStreams : public IRMutator {
public:
    LowerStreams(const Halide::Func &output, const StreamedReads &reads, int along, bool avx512)
        : output(output.name()), rank(output.dimensions()), reads(reads), along(along),
          function(avx512 ? "attune_stream_avx512" : "attune_stream"),
          function_of_steps(avx512 && reads.by_halves ? "attune_stream_halves_avx512" : function) {}

private:
    using IRMutator::visit;
    // What is stored to a buffer before it is streamed.
    enum class Part { run, step, row, whole_row, rows, in_turn, in_part };

    const std::string output;
    const int rank;
    const StreamedReads reads;
    const int along;
    const char *const function, *const function_of_steps; // of the runtime
    bool streams = false;                                 // whether the statement just visited does
    Halide::Type element;                                 // of the output, if so
    std::string scratch;                                  // where a task stores first what it streams, and what of it needs the most room
    std::optional<Part> largest;
    bool all_begin_lines = true; // whether streams that take turns do
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
    // How far on lies what is asked for, if anything.
    Expr elements_ahead() const {
        if (reads.once || reads.input.empty()) return bytes_ahead_once / element.bytes();
        return of_cpu("attune_streamed_bytes_ahead") / element.bytes();
    }
    // The same in passes that store so many elements each.
    Expr passes_ahead(const Expr &elements) const {
        return max(1, (Variable::make(Halide::Int(32), all_ahead()) + elements - 1) / max(1, elements));
    }
    std::string all_ahead() const { return output + ".elements_ahead"; }
    std::string turns_are_far() const { return output + ".turns_are_far"; }
    std::string rows_ahead() const { return output + ".rows_ahead"; }
    std::string next_is_far() const { return output + ".next_is_far"; }

    // Where that is read of which a loop makes what it stores `ahead` passes later, or nothing. The loop goes on where the loop around it
    // takes its next step.
    Expr next(const FirstAccesses &first, int level, const Expr &ahead) const {
        if (level < 1 || !first.load.defined()) return {};
        const For *rows = loops[size_t(level)].loop, *outer = loops[size_t(level - 1)].loop;
        const auto within = names.begin() + static_cast<std::ptrdiff_t>(loops[size_t(level - 1)].names);
        const Expr row = Variable::make(Halide::Int(32), rows->name), step = Variable::make(Halide::Int(32), outer->name);
        const Expr later = row + ahead, end = rows->min + rows->extent;
        const Expr at =
            substitute({{rows->name, select(later < end, later, later - rows->extent)}, {outer->name, select(later < end, step, step + 1)}},
                       substituted({within, names.end()}, first.load));
        return address(reads.input, at, first.type);
    }

    // Where that is read of which the next part of its stream is made.
    Expr next_in_turn(const FirstAccesses &first, const Expr &elements) const {
        return first.load.defined() ? address(reads.input, first.load + elements, first.type) : Expr();
    }
    static Expr nothing() { return Halide::reinterpret(Halide::Handle(), Expr(uint64_t(0))); }

    static bool is(const For *loop, const Halide::Var &name) { return ends_with(loop->name, "." + name.name()); }
    static std::optional<Part> part_of(const For *loop) {
        const std::pair<const Halide::Var &, Part> parts[] = {{streamed_run, Part::run},        {streamed_step, Part::step},
                                                              {streamed_row, Part::row},        {streamed_whole_row, Part::whole_row},
                                                              {streamed_rows, Part::rows},      {streamed_in_turn, Part::in_turn},
                                                              {streamed_in_part, Part::in_part}};
        for (const auto &[name, part] : parts)
            if (is(loop, name)) return part;
        return std::nullopt;
    }
    // Whether all passes of the loop are stored, rather than each.
    static bool are_rows(Part part) { return part == Part::rows || is_short(part); }
    static bool is_short(Part part) { return part == Part::in_turn || part == Part::in_part; }
    int most_elements(Part part) const {
        switch (part) {
        case Part::run:
            return elements_per_run(element);
        case Part::step:
            return elements_per_step;
        case Part::rows:
            return most_streamed_together;
        default:
            return most_bytes_per_row / element.bytes();
        }
    }

    // What goes on from the buffer at once: so many elements. And what is asked for meanwhile, if anything.
    struct Sent {
        Expr count, next, far;
    };

    Sent sent(const For *loop, Part part, const FirstAccesses &first) const {
        const Expr row = row_elements();
        const Expr far = Variable::make(Halide::Int(32), next_is_far()), rows_later = Variable::make(Halide::Int(32), rows_ahead());
        const int around = int(loops.size()) - 1;
        if (part == Part::row) return {row, next(first, around, rows_later), far};
        if (part == Part::whole_row) return {row, {}, 0};
        const Expr run = Variable::make(Halide::Int(32), loop->name), count = min(most_elements(part), row - run * most_elements(part));
        if (part == Part::step)
            return {count, next(first, around - 1, rows_later + reads.rows_before),
                    select(row > reads.most_bytes_near / element.bytes(), 1, 0)};
        if (part == Part::run) return {count, next(first, around - 1, rows_later), far};
        const Expr passes = storing_passes(loop), ahead = passes_ahead(loop->extent * row);
        if (part == Part::rows) return {passes * row, next(first, around, ahead), far};

        // Other parts take their turns before the next of this stream: the hardware sees it coming too late.
        if (part == Part::in_turn)
            return {passes * row, next_in_turn(first, passes * row), Variable::make(Halide::Int(32), turns_are_far())};

        // What the stream reads later lies further on, parts of it or not.
        const Values within(names.begin() + static_cast<std::ptrdiff_t>(loops.back().names), names.end());
        const std::string &parts = loops.back().loop->name;
        const Expr later = Variable::make(Halide::Int(32), parts) + ahead;
        return {passes * row,
                first.load.defined() ? address(reads.input, substitute(parts, later, substituted(within, first.load)), first.type) : Expr(),
                0};
    }

    // What a part stores to the output: to the task's buffer, and on from there. A run or a row is a pass of the loop, rows are all passes
    // of theirs.
    Stmt streamed(const Stmt &body, const For *loop, Part part) {
        const FirstAccesses first = first_accesses(body, output, reads.input);
        if (!first.store.defined()) return body;
        if (scratch.empty()) throw Halide::CompileError("attune: what is streamed is in no parallel loop: " + loop->name);
        streams = true;
        element = first.type;
        if (!largest || most_elements(*largest) < most_elements(part)) largest = part;
        const std::string index = scratch + ".index", begin = scratch + ".begin_of_part";
        const Expr at = Variable::make(first.store.type(), index), from = Variable::make(Halide::Int(32), begin);
        const Sent s = sent(loop, part, first);
        const Stmt on = call(part == Part::step ? function_of_steps : function,
                             {address(output, at, element), address(scratch, from, element), s.count * element.bytes(),
                              s.next.defined() ? s.next : nothing(), s.far});
        Stmt there = Block::make(redirected(body, output, scratch, at - from), on);
        there = LetStmt::make(begin, part == Part::in_turn ? begin_of_turn() : begin_of_buffer(), there);
        there = LetStmt::make(index, first.store, there);
        return are_rows(part) ? IfThenElse::make(s.count > 0, there) : there;
    }

    // Where the buffer begins, in elements of what is allocated.
    Expr begin_of_buffer() const { return Variable::make(Halide::Int(32), scratch + ".begin"); }
    // And that of one of the streams that take turns, which are those of the loop around.
    Expr begin_of_turn() const {
        if (all_begin_lines) return begin_of_buffer();
        const For *turns = loops.back().loop;
        return begin_of_turn(Variable::make(Halide::Int(32), turns->name) - turns->min);
    }
    Expr begin_of_turn(const Expr &turn) const { return begin_of_buffer() + turn * (bytes_per_turn / element.bytes()); }
    // Whether streams that take turns all begin with a line, of which nothing is then ever left: they share a buffer, and code that has
    // fewer instructions between two parts.
    Expr begin_lines() const {
        const Expr buffer = Variable::make(Halide::type_of<halide_buffer_t *>(), output + ".buffer");
        Expr begin = Halide::reinterpret<uint64_t>(Variable::make(Halide::Handle(), output)) % Expr(uint64_t(bytes_per_line)) == 0;
        for (int axis = 2; axis < rank; axis++) {
            const Expr stride = Call::make(Halide::Int(32), Call::buffer_get_stride, {buffer, axis}, Call::PureExtern);
            begin = begin && stride % (bytes_per_line / element.bytes()) == 0;
        }
        return begin;
    }
    // What a pass of a parallel loop does.
    Stmt body_of_task(const Stmt &given) {
        scratch = unique_name(output + ".streamed"), largest.reset(), all_begin_lines = true;
        const Stmt body = mutate(given);
        if (largest != Part::in_turn) return body;
        all_begin_lines = false;
        return IfThenElse::make(begin_lines(), body, mutate(given));
    }

    // A task's streams, and the buffers for them.
    Stmt task(const Stmt &body) const {
        const bool in_turn = largest == Part::in_turn;
        const auto of_all = [&](const char *function) {
            const Expr turn = Variable::make(Halide::Int(32), scratch + ".turn");
            const Stmt of_one = call(function, {address(scratch, begin_of_turn(turn), element)});
            return For::make(scratch + ".turn", 0, in_turn ? most_in_turn : 1, ForType::Serial, Halide::Partition::Never,
                             Halide::DeviceAPI::None, of_one);
        };
        const Expr before = bytes_before_stream / element.bytes();
        const Expr on_page = Halide::reinterpret<uint64_t>(Variable::make(Halide::Handle(), scratch)) % Expr(uint64_t(bytes_per_page));
        const Expr left = bytes_per_page - Halide::cast<int>(on_page);
        int bytes = most_elements(*largest) * element.bytes() + bytes_beside;
        Expr begin = before;
        if (in_turn)
            bytes = most_in_turn * bytes_per_turn + bytes_per_page, begin += left / element.bytes();
        else if (is_short(*largest))
            bytes += bytes_on_a_page, begin += select(left < bytes_on_a_page, left / element.bytes(), 0);
        const Stmt all = Block::make({of_all("attune_stream_begin"), body, of_all("attune_stream_end")});
        return Allocate::make(scratch, element, Halide::MemoryType::Stack, {bytes / element.bytes()}, const_true(),
                              LetStmt::make(scratch + ".begin", begin, all));
    }

    Stmt visit(const LetStmt *op) override {
        names.emplace_back(op->name, op->value);
        Stmt s = IRMutator::visit(op);
        names.pop_back();
        return s;
    }

    Stmt visit(const For *op) override {
        const bool outer = streams, is_task = op->for_type == ForType::Parallel;
        streams = false;
        loops.push_back({op, names.size()});
        Stmt body = is_task ? body_of_task(op->body) : mutate(op->body);
        const std::optional<Part> part = part_of(op);
        if (part && !are_rows(*part)) body = streamed(body, op, *part);
        loops.pop_back();
        if (streams && is_task) body = task(body);
        if (is_task) scratch.clear();
        Stmt all = For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
        if (part && are_rows(*part)) all = streamed(all, op, *part);
        streams = streams || outer;
        if (!loops.empty() || !streams) return all;
        streams = false;
        const Expr row = row_elements();
        const Expr far = reads.once ? row % (bytes_per_line / element.bytes()) == 0 : row > most_bytes_near / element.bytes();
        if (stmt_uses_var(all, turns_are_far())) all = LetStmt::make(turns_are_far(), of_cpu("attune_streamed_turns_are_far"), all);
        all = LetStmt::make(next_is_far(), select(far, 1, 0), all);
        all = LetStmt::make(rows_ahead(), max(1, Variable::make(Halide::Int(32), all_ahead()) / row), all);
        return LetStmt::make(all_ahead(), elements_ahead(), all);
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

void stream_steps(Halide::Stage stage, const Halide::Var &along, int lanes) {
    const Halide::Var vector("vector");
    stage.split(along, streamed_step, along, elements_per_step, Halide::TailStrategy::GuardWithIf)
        .partition(streamed_step, Halide::Partition::Never)
        .split(along, vector, along, lanes, Halide::TailStrategy::RoundUp)
        .vectorize(along)
        .unroll(vector);
}

void stream_rows(Halide::Stage stage, const Halide::Var &row) {
    stage.rename(row, streamed_rows).partition(streamed_rows, Halide::Partition::Never);
}

void stream_parts(Halide::Stage stage, const Halide::Var &row, const Halide::Var &part) {
    stage.rename(row, streamed_in_part).partition(streamed_in_part, Halide::Partition::Never);
    stage.rename(part, streamed_part).partition(streamed_part, Halide::Partition::Never);
}

void stream_rows_in_turn(Halide::Stage stage, const Halide::Var &row) {
    stage.rename(row, streamed_in_turn).partition(streamed_in_turn, Halide::Partition::Never);
}

Expr rows_of_lines(const Halide::Func &output) {
    const Expr bytes = output.output_buffer().dim(0).extent() * output.type().bytes();
    Expr rows = bytes_per_line;
    for (int fewer = bytes_per_line / 2; fewer >= 1; fewer /= 2)
        rows = select(bytes * fewer % bytes_per_line == 0 && bytes * fewer >= least_bytes_per_part, fewer, rows);
    return rows;
}

Expr parts_are_streamed(const Halide::Func &output) {
    return is_streamed(output) &&
           rows_of_lines(output) * output.output_buffer().dim(0).extent() <= most_bytes_per_row / output.type().bytes();
}

Expr begins_lines(const Halide::Func &output, const std::vector<int> &axes) {
    const Halide::OutputImageParam &buffer = output.output_buffer();
    Expr begins = dsl::address_of(buffer.parameter()) % Expr(uint64_t(bytes_per_line)) == 0;
    for (int axis : axes)
        begins = begins && buffer.dim(axis).stride() % (bytes_per_line / output.type().bytes()) == 0;
    return begins;
}

Expr heads_in_turn() { return min(most_in_turn, of_cpu("attune_streamed_heads_in_turn")); }

Expr tokens_in_turn() { return of_cpu("attune_streamed_tokens_in_turn"); }

Expr any_in_turn() { return of_cpu("attune_streams_any_in_turn") != 0; }

Expr pipelines_all_rows() { return of_cpu("attune_pipelines_all_rows") != 0; }

bool may_pipeline(const Machine &machine) { return machine.float_lanes >= 8; } // of four, arithmetic takes longer than memory

Expr may_go_by_steps(const Machine &machine, const Halide::Type &type, const Expr &elements) {
    const Expr are_few = elements <= elements_per_streamed_task / 2;
    return type.bits() >= machine.masked_load_bits ? are_few : are_few && elements % elements_per_step == 0;
}

Expr elements_per_pipelined_task(const Expr &rows, const Expr &elements) {
    constexpr int most_rows = 32, least_tasks = 32;
    return max(elements_per_streamed_task, min(most_rows, rows / least_tasks) * elements);
}

Expr is_streamed(const Halide::Func &output) {
    Expr bytes = Expr(int64_t(output.type().bytes()));
    for (int i = 0; i < output.dimensions(); ++i)
        bytes *= Halide::cast<int64_t>(output.output_buffer().dim(i).extent());
    return is_past_caches(bytes);
}

Expr is_past_caches(const Expr &bytes) { return bytes >= Call::make(Halide::Int(64), "attune_least_streamed_bytes", {}, Call::PureExtern); }

Expr rows_are_streamed(const Halide::Func &output) {
    return is_streamed(output) && output.output_buffer().dim(0).extent() <= most_bytes_per_row / output.type().bytes();
}

void lower_streams(Halide::Pipeline pipeline, const Machine &machine, int along, const StreamedReads &reads) {
    pipeline.add_custom_lowering_pass(new LowerStreams(pipeline.outputs()[0], reads, along, machine.avx512));
}

} // namespace attune::schedules::x86
