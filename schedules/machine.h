// Facts about the machine a kernel is generated for, that schedules query.
#pragma once

#include <string>

#include <Halide.h>

#include "dsl/prefetch.h"

namespace attune::schedules {

struct Machine {
    std::string name; // of the tuned sizes: "x86-64-avx512_zen5", "x86-64-avx512_bf16", "x86-64-avx512_amx", "x86-64-avx512",
                      // "x86-64-avx2", "x86-64" or "cuda"
    bool gpu = false;
    int float_lanes = 4;           // f32 in a vector register, or threads of a warp
    int vector_registers = 16;     // of them
    bool avx512 = false;           // whether vectors are of 512 bits, and of integers as of floats: AVX512F, BW, DQ and VL
    bool fused = false;            // whether it multiplies and adds in one instruction
    int masked_load_bits = 0;      // the narrowest elements of which a vector is loaded under a mask; 0: of none
    bool converts_float16 = false; // whether one instruction makes f16 of f32, NaN of NaN
    bool bfloat16_pairs = false;   // whether one instruction adds the products of two pairs of bf16
    bool bfloat16_tiles = false;   // whether one multiplies matrices of such pairs (AMX)
    int parts_by_tiles = 0;        // into how many of bf16 a number of f32 (3) or f16 (2) is split where tiles multiply them; else 0
    Halide::Type elements = Halide::Float(32); // of the kernels
};

/** Whose schedules a target takes: "x86" or "cuda". Those for CUDA may run as OpenCL too, which needs no GPU. */
const char *device_of(const Halide::Target &target);

/** The machine of a Halide target, as kernels for elements of that type may use it. */
Machine machine(const Halide::Target &target, const Halide::Type &dtype = Halide::Float(32));

/** Tile sizes of a schedule, tuned for a machine: see schedules/tuned/. */
struct Tiles {
    int rows_per_tile;  // queries, a multiple of float_lanes
    int tiles_per_task; // that share one copy of each key block, at most: a power of 2
    int keys_per_block; // a multiple of keys_per_panel
    int keys_per_panel; // keys whose scores are in registers at once
    int value_step;     // channels of the output in registers at once
};

/** The sizes for a schedule and head size (0: any), from schedules/tuned/<machine>.json. */
Tiles tuned_tiles(const Machine &machine, const std::string &schedule, int head_dim);

/** How a schedule that memory limits reads keys and values, tuned for a machine as Tiles are. */
struct Streams {
    int keys_per_chunk;
    int keys_per_chunk_alone; // instead, where only one row reads a key
    int keys_per_panel;       // a divisor of either / streams
    int keys_per_part;        // of it, whose values are summed up over at once: dsl::DecodeBlocking
    int streams;
    bool in_turn; // whether they take the panels in turn, and all is read in order; else each has its own part of a chunk
    // That much further on than keys are read they are asked for, at each of these distances, the furthest first; and values.
    std::vector<int> bytes_ahead, value_bytes_ahead; // the second, if the file has none: as the first
    int bytes_ahead_alone;                           // instead, where only one row reads a key
    dsl::Nearness nearness;                          // how near: `level_ahead` in the files, that of a cache
    int rows_per_vector;                             // whose scores are made in one vector, where rows share a short key
    int short_key;                                   // bytes, at most
    int keys_at_once;                                // of those scores, whose keys are read in turn; a divisor of streams; if none: all
};

/** As above, for keys and values stored as such. What the file has for "pairs", where they are bf16 and the machine multiplies such, or
 * else for the type ("f32", "f16", "bf16" or "int8") takes the place of the rest, and what it has for the type and the width ("bf16
 * head_dim 64") that of both. */
Streams tuned_streams(const Machine &machine, const std::string &schedule, int head_dim, const Halide::Type &stored);

/** How a schedule of the linear layer reads packed weights, tuned for a machine as Tiles are. */
struct WeightStreams {
    int panels;             // read side by side
    int words_ahead;        // of what is read of a panel, that many further on is asked for
    dsl::Nearness nearness; // how near: `level_ahead`
};

/** Those for a schedule, and for whether the machine multiplies pairs of bf16. */
WeightStreams tuned_weight_streams(const Machine &machine, const std::string &schedule);

} // namespace attune::schedules
