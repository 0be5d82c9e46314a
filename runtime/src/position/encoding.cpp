#include "runtime/src/position/encoding.h"

#include <algorithm>

#include "runtime/src/divided_up.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/kernel/stream.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

using text::PositionKind;
using text::RotaryLayout;

// Of one step of encode: what may be kept from call to call, and tokens enough for many threads.
constexpr auto table_elements = static_cast<int64_t>(KeptTables::max_bytes / sizeof(float));

// How many tokens have rows of so many elements in a table at once: equal shares, so that none is too short to be streamed, and each begins
// a line where the first does.
int64_t tokens_at_once(int64_t tokens, int64_t row) {
    constexpr int64_t unit = 64;
    const int64_t most = table_elements / row;
    if (tokens <= most || most < unit) return std::min(tokens, std::max<int64_t>(most, 1));
    const int64_t shares = divided_up(tokens, most);
    return divided_up(tokens, shares * unit) * unit;
}

// Whether channels that rotary embedding passes are left alone, as y is x. Where no CPU's cache holds it, its memory is faster read and
// written in whole rows: of 64 of 128 channels in bf16 on a Zen 3 by two to four times.
bool passes_stay(const Encoding &e, const attune_tensor &x, const attune_tensor &y) {
    if (e.kind != PositionKind::rotary || !same_view(x, y)) return false;
    return x.device == ATTUNE_CUDA || packed_bytes(x) < attune_least_streamed_bytes();
}

} // namespace

const char *table_operation(const Encoding &e) { return e.kind == PositionKind::rotary ? "rotary_table" : "sinusoidal"; }

const char *apply_operation(const Encoding &e) {
    const char *rotary = e.layout == RotaryLayout::half ? "rotary_half" : "rotary_interleaved";
    return e.kind == PositionKind::rotary ? rotary : "add_positions";
}

Status find_table_kernel(const Encoding &e, const char *schedule, const attune_kernel *&kernel) {
    return find_function_kernel(table_operation(e), schedule, kernel);
}

Status find_apply_kernel(const Encoding &e, const char *schedule, attune_type type, const attune_kernel *&kernel) {
    return find_function_kernel(apply_operation(e), schedule, kernel, type);
}

Status apply_table(const Encoding &e, const attune_kernel &kernel, const attune_tensor &x, const attune_tensor &table,
                   const attune_tensor &y, Call &call) {
    // Half-split axes are an embedding each of their own channels; the last takes those that pass along.
    const int64_t parts = e.kind == PositionKind::rotary && e.layout == RotaryLayout::half ? e.axes : 1;
    const int64_t width = e.width / parts, pairs = e.channels() / parts;
    const int64_t end = passes_stay(e, x, y) ? e.width : e.dim;
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t channels = part + 1 < parts ? width : end - part * width;
        HalideBuffer in(slice(x, 3, part * width, channels), 4), out(slice(y, 3, part * width, channels), 4);
        HalideBuffer values(slice(table, 3, part * pairs, pairs), 4);
        void *arguments[4] = {nullptr, in.get(), values.get(), out.get()};
        ATTUNE_TRY(run_kernel(kernel, arguments, call));
    }
    return {};
}

Status encode(const Encoding &e, const Positions &p, const attune_tensor &x, const attune_tensor &y, const char *schedule, Call &call) {
    const attune_kernel *apply = nullptr, *make = nullptr;
    ATTUNE_TRY(find_apply_kernel(e, schedule, x.type, apply));
    if (!e.has_rows()) ATTUNE_TRY(find_table_kernel(e, schedule, make));
    if (!has_elements(x)) return {};

    const int64_t row = p.own_batch() * e.planes() * e.channels();
    const int64_t step = rows_follow(e, p) ? p.tokens : tokens_at_once(p.tokens, row);
    const PartsOfOutput parts(step < p.tokens ? packed_bytes(y) : 0);
    int64_t elements = 0;
    ATTUNE_TRY(count_table(e, p, step, elements));
    Scratch<float> memory(call);
    if (!memory.allocate(static_cast<size_t>(elements))) return out_of_memory("the table of positions", elements * 4);
    for (int64_t first = 0; first < p.tokens; first += step) {
        const int64_t count = std::min(step, p.tokens - first);
        attune_tensor table;
        ATTUNE_TRY(make_table(e, make, p, first, count, memory.data(), call, table));
        ATTUNE_TRY(apply_table(e, *apply, slice(x, 2, first, count), table, slice(y, 2, first, count), call));
    }
    return {};
}

} // namespace attune::runtime
