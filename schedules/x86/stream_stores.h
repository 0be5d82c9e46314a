// Stores that go past the caches, which Halide 21 lacks.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

#include "dsl/prefetch.h"
#include "schedules/machine.h"

namespace attune::schedules::x86 {

constexpr int bytes_per_page = 4096; // of memory

/** What a stream needs before the buffer that it goes on from, for what the runtime keeps of it: two lines. */
constexpr int bytes_before_stream = 2 * dsl::bytes_per_line;

/** Cuts the innermost axis of a stage into runs that go past the caches, of vectors of so many lanes. */
void stream_runs(Halide::Stage stage, const Halide::Var &along, int lanes, const Halide::Type &type);

/** Cuts it into shorter steps for a pipeline. The name of the loop over them ends with that of streamed_step. */
void stream_steps(Halide::Stage stage, const Halide::Var &along, int lanes);

constexpr int elements_per_step = 128;
extern const Halide::Var streamed_step;

/** The name of a loop each pass of which stores a row for a pipeline, which goes past the caches as a whole. */
extern const Halide::Var streamed_whole_row;

/** Whether rows that go past the caches are pipelined on this CPU whatever their length, as the runtime's attune_pipelines_all_rows() says:
 * on machines that may. */
Halide::Expr pipelines_all_rows();
bool may_pipeline(const Machine &machine);
constexpr int least_bytes_pipelined = 256; // a row: in shorter ones stages wait for each other

constexpr int most_streamed_together = 2048; // elements

/** Elements of a task of rows, in the caches and past them. There a task may begin and end within a line, which it writes by an ordinary
 * store and waits for, and a pipeline begins and ends: norms of half a megabyte a task take 0.78 to 0.9 of the time of those of 64 KiB. */
constexpr int elements_per_task = 16384, elements_per_streamed_task = 131072;

/** Whether rows of so many elements of a type can go by steps: where a task has several of them; and where no vector of the type is stored
 * under a mask, whole steps alone, since of another each element would be stored by itself. */
Halide::Expr may_go_by_steps(const Machine &machine, const Halide::Type &type, const Halide::Expr &elements);

/** Elements of a task of rows that are pipelined. Of long ones it has more, since a pipeline of few is hardly begun when it ends, as far as
 * enough tasks are left for other threads: on Granite Rapids softmax of rows of 32,000 to 65,536 numbers takes 0.86 to 0.95 of the time by
 * so many. */
Halide::Expr elements_per_pipelined_task(const Halide::Expr &rows, const Halide::Expr &elements);

/** Sends rows that lie one after the other without gaps past the caches together, after the loop over `row` that stores them: no more than
 * most_streamed_together elements. */
void stream_rows(Halide::Stage stage, const Halide::Var &row);

/** Sends rows past the caches by parts, each of rows_of_lines() but a stream's last: `row` is the loop over a part's, `part`, around it,
 * that over a stream's parts. */
void stream_parts(Halide::Stage stage, const Halide::Var &row, const Halide::Var &part);
/** Sends rows_of_lines() past the caches at once, which begin a line, in turn with those of other streams. In x, too, the next ones of each
 * stream follow. */
void stream_rows_in_turn(Halide::Stage stage, const Halide::Var &row);

/** How many heads take turns on this CPU, how many tokens they have before other heads come, and whether heads of long rows do, too, and
 * those that begin within lines: as the runtime's attune_streamed_heads_in_turn(), attune_streamed_tokens_in_turn() and
 * attune_streams_any_in_turn() say. */
Halide::Expr heads_in_turn();
Halide::Expr tokens_in_turn();
Halide::Expr any_in_turn();

/** How many rows of an output, one after the other without gaps, are whole lines, and enough of them. */
Halide::Expr rows_of_lines(const Halide::Func &output);

/** The name of a loop each pass of which stores a row, which goes past the caches as a whole. */
extern const Halide::Var streamed_row;

/** Whether so many bytes (i64) are too many to stay in the caches, as the runtime's attune_least_streamed_bytes() says. */
Halide::Expr is_past_caches(const Halide::Expr &bytes);

/** Whether an output is too large to stay in the caches, and for streamed_row also whether its rows are short enough: what to specialize
 * by, so that the other branch stays as it is. */
Halide::Expr is_streamed(const Halide::Func &output);
Halide::Expr rows_are_streamed(const Halide::Func &output);
/** And for parts of rows_of_lines(). */
Halide::Expr parts_are_streamed(const Halide::Func &output);

/** Whether a line begins where an output does, and at each step along these axes. */
Halide::Expr begins_lines(const Halide::Func &output, const std::vector<int> &axes);

/** What a pipeline whose output is streamed reads, so that it is asked for while the output is written. */
struct StreamedReads {
    std::string input; // a buffer, of which what will be read some rows later is asked for; "" for none
    bool once;         // whether each element is read once, beside others that are read again and again; else a row is read twice or more
    // Of a pipeline, by steps: how many rows before it is written a row is read, and of how many bytes rows may be that are asked for into
    // the first-level cache, too.
    int rows_before = 0, most_bytes_near = 0;
    bool by_halves = false; // whether steps are written by halves of lines, as memory is waited for more than arithmetic
};

/** Makes runs and rows what they say, in pipelines of one output whose axis `along` is contiguous: each fills a buffer in the first-level
 * cache instead, from which the runtime's attune_stream() writes. What a pass of a parallel loop, which must be around them, writes one
 * after the other without gaps is one stream, whose lines are whole; the pass ends with a fence. */
void lower_streams(Halide::Pipeline pipeline, const Machine &machine, int along, const StreamedReads &reads);

} // namespace attune::schedules::x86
