#include "jit_attention.h"

#include <cmath>

#include "attention_cells.h"
#include "compare.h"
#include "dsl/axes.h"
#include "dsl/prefetch.h"
#include "dsl/side_output.h"

namespace attune::test {

namespace {

/** What one row may attend to, cell by cell, as intervals. */
std::vector<std::array<int32_t, 2>> intervals_of_row(const Cells &cells, int64_t query, int64_t keys) {
    std::vector<std::array<int32_t, 2>> intervals;
    for (int32_t j = 0; j < keys; j++) {
        if (!cells.attended(query, j)) continue;
        if (intervals.empty() || intervals.back()[1] != j) intervals.push_back({j, j});
        intervals.back()[1] = j + 1;
    }
    return intervals;
}

template <typename T> Tensor<T> filler(const Extents &full) {
    Tensor<T> one({1, 1, 1, 1});
    one.fill(0);
    return one.broadcast(full);
}

} // namespace

Tensor<int32_t> interval_table(const AttentionProblem &problem) {
    std::vector<std::vector<std::array<int32_t, 2>>> rows;
    size_t count = 1;
    AttentionProblem without_tensors = problem; // which are inputs of their own
    without_tensors.boolean_mask.reset(), without_tensors.bias.reset();
    for (int64_t b = 0; b < problem.batch(); b++) {
        const Cells cells(without_tensors, b, 0);
        for (int64_t i = 0; i < problem.queries(); i++) {
            rows.push_back(intervals_of_row(cells, i, problem.keys()));
            count = std::max(count, rows.back().size());
        }
    }
    Tensor<int32_t> table({problem.batch(), 1, problem.queries(), static_cast<int64_t>(count), 2});
    table.fill(static_cast<int32_t>(problem.keys()));
    for (size_t row = 0; row < rows.size(); row++)
        for (size_t r = 0; r < rows[row].size(); r++)
            for (int end = 0; end < 2; end++)
                table(row / problem.queries(), 0, row % problem.queries(), r, end) = rows[row][r][end];
    return table;
}

JitAttention::JitAttention(int head_dim, std::optional<dsl::Mask> mask) {
    inputs_.query = query_, inputs_.key = key_, inputs_.value = value_;
    // A page for each item.
    inputs_.pages.place(dsl::axes::token) = dsl::axes::token, inputs_.pages.page(dsl::axes::token, dsl::axes::batch) = dsl::axes::batch;
    inputs_.pages.key = key_, inputs_.pages.value = value_;
    inputs_.pages.key_strides = {key_.dim(1).stride(), key_.dim(3).stride()};
    inputs_.pages.value_strides = {value_.dim(1).stride(), value_.dim(3).stride()};
    inputs_.queries = query_.dim(1).extent(), inputs_.keys = key_.dim(1).extent();
    inputs_.head_dim = head_dim != 0 ? Halide::Expr(head_dim) : query_.dim(0).extent();
    inputs_.value_dim = head_dim != 0 ? Halide::Expr(head_dim) : value_.dim(0).extent();
    inputs_.heads = query_.dim(2).extent(), inputs_.batches = query_.dim(3).extent();
    inputs_.heads_per_group = query_.dim(2).extent() / key_.dim(2).extent();
    inputs_.intervals = {intervals_, intervals_.dim(1).extent()};
    inputs_.mask = std::move(mask);
    inputs_.attend = attend_, inputs_.bias = bias_;
    inputs_.relative = relative_, inputs_.sinks = sinks_;
    inputs_.use_attend = use_attend_, inputs_.use_bias = use_bias_, inputs_.use_relative = use_relative_, inputs_.use_sinks = use_sinks_;
    inputs_.attend_contiguous = attend_.dim(0).stride() == 1, inputs_.bias_contiguous = bias_.dim(0).stride() == 1;
    inputs_.dropout = {threshold_, seed_low_, seed_high_};
    inputs_.scale = scale_, inputs_.softcap = softcap_, inputs_.temperature = temperature_;
    query_.dim(0).set_bounds(0, inputs_.head_dim), key_.dim(0).set_bounds(0, inputs_.head_dim);
    value_.dim(0).set_bounds(0, inputs_.value_dim);
    for (Halide::ImageParam *tensor : {&attend_, &bias_, &relative_, &sinks_})
        tensor->dim(0).set_stride(Halide::Expr());
}

dsl::Attention JitAttention::declare(const dsl::Blocking &blocking) {
    declared_ = dsl::attention(inputs_, blocking);
    std::vector<Halide::Func> outputs = {declared_.output, declared_.lse};
    if (inputs_.count_panels) outputs.push_back(declared_.counts);
    pipeline = Halide::Pipeline(outputs);
    rows_per_tile_ = blocking.rows_per_tile;
    Halide::OutputImageParam out = declared_.output.output_buffer(), lse = declared_.lse.output_buffer();
    out.dim(0).set_bounds(0, inputs_.value_dim), out.dim(1).set_bounds(0, inputs_.queries), lse.dim(0).set_bounds(0, inputs_.queries);
    return declared_;
}

void JitAttention::compute_all_at_root() {
    test::compute_all_at_root(pipeline);
    dsl::lower_prefetches(pipeline);
    dsl::lower_side_outputs(pipeline, declared_.side_outputs());
}

void JitAttention::compile(const Halide::Target &target) {
    target_ = target;
    pipeline.compile_jit(target);
}

void JitAttention::bind(const AttentionProblem &problem) {
    const Extents cells{problem.batch(), problem.query_heads(), problem.queries(), problem.keys()};
    table_ = interval_table(problem);
    attend_tensor_ = problem.boolean_mask ? problem.boolean_mask->broadcast(cells) : filler<uint8_t>(cells);
    bias_tensor_ = problem.bias ? problem.bias->broadcast(cells) : filler<float>(cells);
    query_.set(buffer_of(problem.q)), key_.set(buffer_of(problem.k)), value_.set(buffer_of(problem.v));
    const Extents per_head{problem.batch(), problem.query_heads(), problem.queries(), static_cast<int64_t>(table_.extent[3]), 2};
    relative_tensor_ = Tensor<float>({problem.batch(), problem.query_heads(), problem.queries() + problem.keys() - 1});
    sinks_tensor_ = Tensor<float>({problem.query_heads()});
    relative_tensor_.fill(0), sinks_tensor_.fill(0);
    intervals_.set(buffer_of(table_.broadcast(per_head))), attend_.set(buffer_of(attend_tensor_)), bias_.set(buffer_of(bias_tensor_));
    use_attend_.set(problem.boolean_mask.has_value()), use_bias_.set(problem.bias.has_value());
    relative_.set(buffer_of(relative_tensor_)), sinks_.set(buffer_of(sinks_tensor_));
    use_relative_.set(0), use_sinks_.set(0), threshold_.set(0), seed_low_.set(0), seed_high_.set(0);
    scale_.set(problem.scale.value_or(1 / std::sqrt(static_cast<float>(problem.dim()))));
    softcap_.set(problem.softcap), temperature_.set(problem.temperature);
}

JitResult JitAttention::run(const AttentionProblem &problem) {
    bind(problem);
    const Extents rows{problem.batch(), problem.query_heads(), problem.queries()};
    const int64_t tiles = (rows[2] + rows_per_tile_ - 1) / rows_per_tile_;
    JitResult result{Tensor<float>({rows[0], rows[1], rows[2], problem.value_dim()}), Tensor<float>(rows), {}};
    std::vector<Halide::Buffer<>> outputs = {buffer_of(result.out), buffer_of(result.lse)};
    if (inputs_.count_panels) {
        result.counts = Tensor<int32_t>({rows[0], rows[1], tiles, 2});
        outputs.push_back(buffer_of(result.counts));
    }
    pipeline.realize(Halide::Realization(outputs), target_);
    return result;
}

void compute_all_at_root(const Halide::Pipeline &pipeline) {
    for (const Halide::Func &output : pipeline.outputs())
        for (const auto &[name, function] : Halide::Internal::find_transitive_calls(output.function()))
            Halide::Func(function).compute_root();
}

void expect_exact(const JitResult &result, const AttentionProblem &problem) {
    const AttentionAnswer exact = attention_in_double(problem), rounded = attention_in_float(problem);
    const double values = largest_magnitude(to_double(problem.v));
    EXPECT_TRUE(agrees(to_double(result.out), exact.out, twice_rounded(exact.out, rounded.out, values), 0));
    EXPECT_TRUE(agrees(to_double(result.lse), exact.lse, twice_rounded(exact.lse, rounded.lse, largest_magnitude(exact.lse)), 0));
    EXPECT_TRUE(result.out.canaries_intact());
}

} // namespace attune::test
