#include "schedules/passes.h"

#include "dsl/displaced.h"
#include "dsl/in_place.h"
#include "dsl/prefetch.h"
#include "dsl/side_output.h"
#include "dsl/word_powers.h"
#include "dsl/words.h"
#include "schedules/cuda/private_registers.h"
#include "schedules/lowered/ask_for_stores.h"
#include "schedules/lowered/decide_conditions.h"
#include "schedules/lowered/interleave_stores.h"
#include "schedules/lowered/join_loops.h"
#include "schedules/lowered/lift_conditions.h"
#include "schedules/lowered/mask_loads.h"
#include "schedules/lowered/reduce_stores.h"
#include "schedules/lowered/register_arrays.h"
#include "schedules/lowered/stage_loops.h"
#include "schedules/lowered/turn_squares.h"
#include "schedules/lowered/unswitch_loops.h"
#include "schedules/schedules.h"
#include "schedules/x86/stream_stores.h"
#include "schedules/x86/tile_products.h"

namespace attune::schedules {

namespace {

void add_masked_loads(Halide::Pipeline pipeline, const Machine &machine) {
    if (machine.masked_load_bits > 0) pipeline.add_custom_lowering_pass(new MaskLoads(machine.masked_load_bits));
}

} // namespace

void add_passes(Halide::Pipeline pipeline, const dsl::Attention &attention, const Machine &machine) {
    pipeline.add_custom_lowering_pass(new LiftConditions(attention.fold.state, 0));
    if (attention.blocking.first_rows > 0) pipeline.add_custom_lowering_pass(new LiftConditions(attention.operands.query, pure_definition));
    // A tile's output goes where nothing was read or written before: while one is stored, that of the next is asked for.
    const int token_axis = 1;
    if (attention.blocking.asks_ahead)
        pipeline.add_custom_lowering_pass(new AskForStores(attention.output, token_axis, attention.blocking.rows_per_tile));
    // Which rows of a tile and keys of a panel are multiplied is the same for all channels.
    if (attention.blocking.first_rows > 0 || attention.blocking.few_keys > 0)
        pipeline.add_custom_lowering_pass(new UnswitchLoops(attention.scores.dot, 0));
    pipeline.add_custom_lowering_pass(new RegisterArrays);
    const dsl::BlockState &state = attention.partial;
    if (attention.blocking.maxima_with_scores) {
        const int products = attention.blocking.scores_in_memory ? 0 : pure_definition;
        pipeline.add_custom_lowering_pass(new JoinLoops(attention.scores.masked, products, state.lane_maximum, 0));
    }
    if (attention.blocking.sums_with_weights)
        pipeline.add_custom_lowering_pass(new JoinLoops(state.weight, pure_definition, state.lane_sum, 0));
    add_masked_loads(pipeline, machine);
    // Whether all values are finite is seen as they are copied.
    if (attention.operands.value_lanes == machine.float_lanes && attention.blocking.values_together == 1)
        pipeline.add_custom_lowering_pass(new ReduceStores(attention.operands.value, attention.operands.value_lane, 0));
    // A block's scores are exponents or not, and its exponents wide or not.
    if (attention.blocking.scores_as_exponents || attention.blocking.weights_as_words)
        pipeline.add_custom_lowering_pass(new UnswitchLoops(state.weight, pure_definition));
    for (const Halide::Func &turned : {attention.operands.query_lines, attention.fold.state})
        pipeline.add_custom_lowering_pass(new TurnSquares(turned));
    if (machine.bfloat16_tiles || attention.blocking.products.parts > 1) {
        pipeline.add_custom_lowering_pass(new x86::TileProducts);
        pipeline.add_custom_lowering_pass(new TurnSquares(attention.operands.value_words));
    }
    if (attention.blocking.weights_as_words) dsl::lower_word_powers(pipeline);
    dsl::lower_words(pipeline);
    dsl::lower_in_place(pipeline);
    dsl::lower_prefetches(pipeline);
    dsl::lower_side_outputs(pipeline, attention.side_outputs());
}

void add_passes(Halide::Pipeline pipeline, const dsl::Decode &decode, const Machine &machine) {
    // How many rows read a key, by which the schedule specializes.
    if (decode.blocking.keys_per_chunk_alone != decode.blocking.keys_per_chunk || decode.tiled)
        pipeline.add_custom_lowering_pass(new DecideConditions);
    // Whether a panel's keys lie one after the other is the same for all of them. (Vectors of other streams find each key by an entry of
    // its own.)
    if (decode.panel_at.defined() && decode.blocking.in_turn) {
        for (int i = 0; i < int(decode.scores.size()); i++)
            pipeline.add_custom_lowering_pass(new UnswitchLoops(decode.masked, i, decode.panel_at));
        for (const dsl::ValueProducts &p : decode.values)
            pipeline.add_custom_lowering_pass(new UnswitchLoops(p.sum, 0, decode.panel_at));
    }
    dsl::lower_displaced(pipeline);
    add_masked_loads(pipeline, machine);
    dsl::lower_prefetches(pipeline);
    if (decode.tiled) {
        pipeline.add_custom_lowering_pass(new TurnSquares(decode.tiled.query_lines));
        if (decode.panel_at.defined())
            for (const Halide::Func &copied : {decode.tiled.scores.front().key, decode.tiled.value, decode.tiled.guarded})
                pipeline.add_custom_lowering_pass(new UnswitchLoops(copied, pure_definition, decode.panel_at));
        for (int i = 0; i < int(decode.tiled.scores.size()); i++) {
            pipeline.add_custom_lowering_pass(new LiftConditions(decode.masked, int(decode.scores.size()) + i));
            pipeline.add_custom_lowering_pass(new TurnSquares(decode.tiled.scores[size_t(i)].dot));
        }
        pipeline.add_custom_lowering_pass(new x86::TileProducts);
    }
    dsl::lower_words(pipeline);
    pipeline.add_custom_lowering_pass(new RegisterArrays);
    if (decode.read_at.defined()) dsl::lower_in_place(pipeline);
}

void add_passes(Halide::Pipeline pipeline, const dsl::SimtAttention &attention, const Machine &machine) {
    if (!machine.gpu) return;
    // Whether a block is attended to, and whether an output isn't finite: other conditions differ by thread, and would only part a warp's
    // lanes.
    for (const Halide::Func &f : {attention.state, attention.careful})
        pipeline.add_custom_lowering_pass(new LiftConditions(f, 0));
    pipeline.add_custom_lowering_pass(new cuda::PrivateRegisters);
}

void add_passes(Halide::Pipeline pipeline, const dsl::Softmax &softmax, const Machine &machine) {
    if (machine.gpu) pipeline.add_custom_lowering_pass(new cuda::PrivateRegisters);
    dsl::lower_prefetches(pipeline);
    dsl::lower_words(pipeline);
    if (!machine.gpu) x86::stream_softmax(pipeline, softmax, machine);
}

void add_passes(Halide::Pipeline pipeline, const dsl::Norm &norm, const std::string &x, const Machine &machine) {
    dsl::lower_words(pipeline);
    if (!machine.gpu) x86::stream_norm(pipeline, norm, x, machine);
}

void add_passes(Halide::Pipeline pipeline, const dsl::Rotary &, const std::string &x, const Machine &machine) {
    if (!machine.gpu) pipeline.add_custom_lowering_pass(new InterleaveStores);
    dsl::lower_words(pipeline);
    if (!machine.gpu) x86::lower_streams(pipeline, machine, 0, {x, true});
}

void add_passes(Halide::Pipeline pipeline, const dsl::Linear &, const Machine &) { dsl::lower_prefetches(pipeline); }

} // namespace attune::schedules
