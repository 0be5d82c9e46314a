// How split-KV decoding for x86 cuts keys and deals them to streams.
//
// Memory is the limit. On an Emerald Rapids core four streams a quarter of a chunk apart keep more of it busy than one (measured, without
// prefetches: 98 % of the read bandwidth, and 92 % with one); on Zen 5 one after the other with prefetches 8 KiB ahead (100 %, and 81 to 91
// % with four apart), and on Zen 4 one after the other, too, so that there the four keys whose scores are made at once are neighbours.
// Prefetches go to the second-level cache there: into the first, Zen 4 takes 1.4 times as long with grouped heads. With one row a key it
// wants 2 KiB ahead, but of f16 and int8 what comes next. It drops what finds too many others waiting, the more the less strictly in order
// memory is read: so two keys' lines take turns in f32, and not four's, and each is asked for three times; each line of values twice, by
// two turns of rows or by one (grouped heads in f32 5 to 9 % less time than with four keys in turn, and two requests 8 and 12 KiB ahead).
// Zen 3, which is what the kernels before AVX-512 were measured on, reads four streams 1.4 times as fast as one, if values are read as keys
// are: one of each stream, all of its lines, then the next ones (32, half of their lines at a time, took 1.1 to 1.6 times as long). bf16 of
// 64 channels is read in order.
#include <algorithm>

#include "schedules/schedules.h"
#include "schedules/x86/decode_rows.h"
#include "schedules/x86/multiply_add.h"
#include "schedules/x86/sixteen_bits.h"
#include "schedules/x86/tile_products.h"

namespace attune::schedules::x86 {

namespace {

// Of the output: every line of a value is read in one go (measured: 84 % of the bandwidth, with 4 82 %).
constexpr int most_vectors_at_once = 8;
// Of a width that isn't known, where streams take turns (measured on Zen 4: 8 take 6 to 15 % longer), or words are read: with 8 LLVM stores
// sums and loads them again. Otherwise, on Granite Rapids, passes of 4, 2 and 1 took 80, 96 and 112 channels 1.06 to 1.28 times as long.
constexpr int few_vectors_at_once = 4;

// Products of tiles take as long for one row as for 16. On Granite Rapids groups of 2 to 4 heads of 128 channels take 0.66 to 0.7 of the
// time of vectors in the second-level cache, and 1.14 to 1.25 from memory; of 8 heads 0.43 and 0.75. Of the eight tile registers four are
// left to sums beside operands, and a power of 2 divides most widths.
constexpr int fewest_rows_of_tiles = 5, tiles_of_sums = 4, tiled_key_bytes_ahead = 2048;

// Whether values are read a few keys of each stream at a time, all their channels, before the next ones.
bool by_few_keys(const dsl::DecodeBlocking &blocking) { return blocking.keys_per_part < blocking.keys_per_panel; }

// How many of the output's vectors a pass adds up. By few keys two, for many rows, since passes follow one another along the same values.
// Else if it may be so many that none are left over. Whole pairs of them, where words are read.
int vectors_at_once(const dsl::DecodeBlocking &blocking, const dsl::AttentionInputs &inputs) {
    if (by_few_keys(blocking)) return 2;
    const auto width = Halide::Internal::as_const_int(inputs.value_dim);
    const int of_any_width = blocking.in_turn || blocking.by_words ? few_vectors_at_once : most_vectors_at_once;
    if (!width) return of_any_width;
    const bool in_words = inputs.pages.key.type().is_bfloat() && (blocking.by_words || blocking.products.pairs);
    const int depth = in_words ? 2 : 1, whole = std::max(int(*width) / (blocking.lanes * depth), 1);
    for (int most = std::min(whole, most_vectors_at_once / depth); most > 0; most--)
        if (whole % most == 0 && (most == whole || most * depth >= of_any_width)) return most * depth;
    return of_any_width;
}

} // namespace

// By few keys, and where streams take turns, so many that half of the registers are left to values and weights: with more, LLVM stores and
// loads sums beside each product. Otherwise rows that read a value together are worth that, as its place is looked up for each (level with
// AVX-512 on Zen 4).
int rows_per_turn(const Machine &machine, const dsl::DecodeBlocking &blocking) {
    constexpr int most_rows_of_few_keys = 4;
    const int room = blocking.in_turn || by_few_keys(blocking) ? machine.vector_registers / 2 : machine.vector_registers;
    int rows = by_few_keys(blocking) ? most_rows_of_few_keys : rows_in_registers(machine);
    while (rows > 1 && rows * blocking.vectors_at_once > room)
        rows /= 2;
    return rows;
}

// The chunks are the same for every number of threads and items, so that sums are made in the same order.
dsl::DecodeBlocking decode_blocking(const Machine &machine, int head_dim, const dsl::AttentionInputs &inputs) {
    const Streams tuned = tuned_streams(machine, "decode", head_dim, inputs.pages.key.type());
    dsl::DecodeBlocking blocking;
    blocking.keys_per_chunk = tuned.keys_per_chunk, blocking.keys_per_chunk_alone = tuned.keys_per_chunk_alone;
    blocking.keys_per_panel = tuned.keys_per_panel, blocking.keys_per_part = tuned.keys_per_part;
    blocking.streams = tuned.streams, blocking.in_turn = tuned.in_turn;
    blocking.bytes_ahead = tuned.bytes_ahead, blocking.value_bytes_ahead = tuned.value_bytes_ahead;
    blocking.bytes_ahead_alone = tuned.bytes_ahead_alone, blocking.nearness = tuned.nearness;
    blocking.lanes = machine.float_lanes;
    blocking.rows_per_vector = tuned.rows_per_vector, blocking.short_key = tuned.short_key;
    // Intel's CPUs, which have tiles, multiply pairs no faster than numbers of f32.
    const dsl::Products pairs = {true, vdpbf16ps};
    if (machine.bfloat16_tiles)
        blocking.tiles = {tile_rows, fewest_rows_of_tiles, tiles_of_sums, tiled_key_bytes_ahead, pairs};
    else if (machine.bfloat16_pairs)
        blocking.products = pairs;
    // Tiles' sums are of channels in order.
    blocking.by_words = !machine.bfloat16_tiles && inputs.pages.key.type().is_bfloat();
    // Of f32 with a head a key, from memory, it took 1.1 times as long (Zen 3), in the caches 0.85 of the time.
    if (machine.fused && by_few_keys(blocking) && inputs.pages.key.type().bits() < 32)
        blocking.products.add_single = [](const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b) {
            return multiply_add(a, b, sum);
        };
    blocking.vectors_at_once = vectors_at_once(blocking, inputs);
    return blocking;
}

} // namespace attune::schedules::x86
