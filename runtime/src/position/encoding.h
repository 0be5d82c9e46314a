// Positional encodings as kernels compute them: a table of what each token's position is worth, then the table applied.
#pragma once

#include <cstdint>

#include "runtime/src/kernel/call.h"
#include "runtime/src/position/numbers.h"
#include "runtime/src/status.h"
#include "text/position.h"

namespace attune::runtime {

inline constexpr int32_t max_position_streams = 8;

/** A positional encoding of rows of `dim` channels. What it points to outlives it. */
struct Encoding {
    text::PositionKind kind = text::PositionKind::rotary; // not none
    text::RotaryLayout layout = text::RotaryLayout::half;
    double base = 10000;
    int64_t dim = 0;
    int64_t width = 0; // of rotary: R
    text::RotaryScaling scaling;
    const int32_t *sections = nullptr;
    int32_t section_count = 0;
    int32_t axes = 1;
    const attune_tensor *learned = nullptr; // f32 [P, dim], checked: the rows of a learned table
    const attune_tensor *cosines = nullptr; // of rotary, f32 [P, width / 2], checked: the caller's own rows, in place of base and scaling
    const attune_tensor *sines = nullptr;

    /** A table's channels and planes a token. */
    int64_t channels() const { return kind == text::PositionKind::rotary ? width / 2 : dim; }
    int64_t planes() const { return kind == text::PositionKind::rotary ? 2 : 1; }
    bool has_rows() const { return learned || cosines; } // that are looked up, not worked out
    int32_t streams() const { return section_count > 0 ? section_count : axes; }
};

/** What messages call the parts of an encoding. */
struct EncodingNames {
    const char *width, *dim, *sections, *axes;
};

Status check_base(double base);

/** Checks base, and for rotary the width, scaling, sections and axes. */
Status check_encoding(const Encoding &encoding, const EncodingNames &names);

/** Checks a learned table on `device`, named `name`: f32 [P, dim], rows contiguous. `limit` becomes that of its positions. */
Status check_learned_table(const attune_tensor &table, const char *name, int64_t dim, PositionLimit &limit,
                           attune_device device = ATTUNE_CPU);

/** Checks a rotary encoding's cosines and sines: both or neither, f32 [P, width / 2], rows contiguous, and nothing beside them that would
 * work out others. `limit` becomes that of their positions. */
Status check_rotary_rows(const Encoding &encoding, PositionLimit &limit);

/** What kernels of the encoding do: make its table, and apply it. */
const char *table_operation(const Encoding &encoding);
const char *apply_operation(const Encoding &encoding);

/** The prebuilt kernel that makes the encoding's table (there is none where it has rows), and the one that applies it to `type`.
 * `schedule` may be nullptr: Attune's choice. */
Status find_table_kernel(const Encoding &encoding, const char *schedule, const attune_kernel *&kernel);
Status find_apply_kernel(const Encoding &encoding, const char *schedule, attune_type type, const attune_kernel *&kernel);

/** Whether the tokens' rows of a learned table follow one another in it, so that no table has to be made. */
bool rows_follow(const Encoding &encoding, const Positions &positions);

/** The elements that make_table needs room for, with `tokens` tokens. */
Status count_table(const Encoding &encoding, const Positions &positions, int64_t tokens, int64_t &elements);

/** The table of tokens [first, first + count): f32 (batch, token, plane, channel) in `memory`, or in what is kept from call to call, or a
 * view of the learned table, on its device, where rows_follow. Stride 0 over batch where all items have the same positions. `kernel` is
 * find_table_kernel's. Of kept tables the last two that a call has made, or found, are there. */
Status make_table(const Encoding &encoding, const attune_kernel *kernel, const Positions &positions, int64_t first, int64_t count,
                  float *memory, Call &call, attune_tensor &table);

/** Where each stream's pairs of a rotary encoding end. */
struct StreamEnds {
    int32_t end[max_position_streams];
};
StreamEnds stream_ends(const Encoding &encoding);

/** Calls the kernel that makes a table: positions i32 [batch, streams, tokens], ends i32 [streams], table [batch, token, plane, channel] of
 * the kernel's type. */
Status run_table_kernel(const Encoding &encoding, const attune_kernel &kernel, const attune_tensor &positions, const attune_tensor &ends,
                        const attune_tensor &table, Call &call);

/** y = x with its positions. x and y are of rank 4, [batch, heads, tokens, dim], and may be the same. */
Status apply_table(const Encoding &encoding, const attune_kernel &kernel, const attune_tensor &x, const attune_tensor &table,
                   const attune_tensor &y, Call &call);

/** Both steps, over as many tokens at a time as keep the table small. */
Status encode(const Encoding &encoding, const Positions &positions, const attune_tensor &x, const attune_tensor &y, const char *schedule,
              Call &call);

} // namespace attune::runtime
