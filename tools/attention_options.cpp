#include "attention_options.h"

#include "device.h"
#include "error.h"

namespace attune::tools {
namespace {

attune_score_stage parse_stage(const std::string &text) {
    if (text == "scaled") return ATTUNE_SCORES_SCALED;
    if (text == "capped") return ATTUNE_SCORES_CAPPED;
    if (text != "masked") bad_argument("--score-stage is {}; it must be scaled, capped or masked", text);
    return ATTUNE_SCORES_MASKED;
}

void add_files(CLI::App &app, AttentionOptions &options) {
    add_text(app, "Q", options.q, "Queries: .npy of <f4, <f2 or, of bf16, <u2, [B,Hq,N,D], [H,N,D] or [N,D]")->required();
    add_text(app, "K", options.k, "Keys: [B,Hkv,M,D]; Hq is a multiple of Hkv")->required();
    add_text(app, "V", options.v, "Values: [B,Hkv,M,Dv]")->required();
    add_text(app, "-o,--output", options.output, "Output: [B,Hq,N,Dv] of Q's type, leading axes as Q has them")->required();
    add_text(app, "--lse", options.lse, "Also write the log-sum-exp of the scores: [B,Hq,N]");
    add_text(app, "--weights", options.weights, "Also write the attention weights: [B,Hq,N,M]");
    add_text(app, "--scores", options.scores, "Also write the scores at the stage --score-stage: [B,Hq,N,M]");
    app.add_option_function<std::string>(
           "--score-stage", [&options](const std::string &text) { options.score_stage = parse_stage(text); },
           "scaled: scale Q K^T; capped: after the soft cap; masked, the default: after biases, -inf where masked")
        ->needs("--scores");
    app.add_option_function<std::string>(
        "--dtype", [&options](const std::string &text) { options.dtype = parse_dtype(text); },
        "Type of Q, K and V: f32 (<f4), f16 (<f2) or bf16 (<u2 or <V2); by default as Q's file says");
}

void add_cache(CLI::App &app, AttentionOptions &options) {
    add_text(app, "--cache", options.cache,
             "Append K and V, which are new tokens then, to the cache in this folder, and attend over all of it. It holds k.npy and v.npy, "
             "[B,Hkv,capacity,D] and [..,Dv], and lengths.npy, [B], the tokens there are; all of them are updated, scales, too. With "
             "block_table.npy, "
             "[B,pages], k and v are pools of pages, [P,Hkv,tokens,D]; with k_scale.npy and v_scale.npy, <f4 [.., tokens], they are |i1. M "
             "is the capacity; queries are the last of their item's tokens unless --offset says otherwise");
    app.add_flag("--cache-ring", options.cache_ring,
                 "The cache is a ring, for masks with a window: token j takes the place j mod capacity, over older ones")
        ->disable_flag_override();
}

void add_masks(CLI::App &app, AttentionOptions &options) {
    add_text(app, "--mask", options.mask,
             "none, causal, window(L,R), prefix(P), documents, blocks(Q,K), lengths, tensor, and ! & | ( ); causal and window may name an "
             "alignment: "
             "causal(top_left), window(L,R,bottom_right)");
    add_text(app, "--mask-tensor", options.mask_tensor, "|b1 .npy, true attends; aligned at the right to [B,Hq,N,M], each axis full or 1");
    add_text(app, "--key-lengths", options.key_lengths, "<i4 or <i8 .npy, one length from 0 to M for each batch item");
    add_text(app, "--documents", options.documents, "For the mask's documents: <i4 or <i8 .npy, the document of each key, [M] or [B,M]");
    add_text(app, "--query-documents", options.query_documents, "The same of each query, [N] or [B,N]; as --documents where N = M");
    add_text(app, "--document-starts", options.document_starts, "Instead of both: where each document starts, and M: [S+1], from 0");
    add_text(app, "--block-map", options.block_map,
             "For the mask's blocks(Q,K): |b1 .npy, aligned at the right to [B,Hq,N/Q,M/K], true attends");
    add_text(app, "--offset", options.offset, "Key position of query 0: an integer, or an <i4 or <i8 .npy with one for each batch item");
}

void add_scores(CLI::App &app, AttentionOptions &options) {
    add_text(app, "--score", options.score,
             "softcap(C), alibi, t5(BUCKETS,DISTANCE,bidirectional|causal) and bias, in the order they apply, separated by blanks");
    add_text(app, "--bias", options.bias, "<f4 .npy added to the scores, -inf masks; shape as for --mask-tensor");
    add_text(app, "--t5-table", options.t5_table, "For the score's t5: <f4 .npy [BUCKETS,Hq]");
    add_text(app, "--sinks", options.sinks, "<f4 .npy [Hq]: one more logit a head, which takes weight and adds nothing");
    app.add_option_function<std::string>(
        "--scale", [&options](const std::string &text) { options.scale = parse_float("--scale", text, finite); },
        "Factor of the dot products; 1 / sqrt(D) by default");
    add_float(app, "--softcap", options.softcap, positive_or_zero, "c > 0: scores become c tanh(s / c); 0: none");
    add_float(app, "--temperature", options.temperature, positive, "Divides the scores as they enter softmax; 1 by default");
    add_float(app, "--dropout", options.dropout, below_one,
              "Drops each weight with this probability and divides the others by what is left");
    app.add_option_function<std::string>(
        "--seed", [&options](const std::string &text) { options.seed = parse_unsigned("--seed", text); },
        "Of dropout: an integer from 0 to 2^64 - 1; 0 by default");
}

void add_positions(CLI::App &app, AttentionOptions &options) {
    add_text(app, "--position", options.position,
             "rotary(half|interleaved, base=, width=, scaling=, ...), sinusoidal or learned, for Q and K");
    add_text(app, "--positions", options.positions, "<i4 or <i8 .npy, the position of each query, [N], [B,N] or [S,B,N]");
    add_text(app, "--key-positions", options.key_positions, "The same of each key; as --positions where N = M");
    add_text(app, "--position-table", options.position_table, "For the position learned: <f4 .npy [P,D]");
}

} // namespace

void add_attention_options(CLI::App &app, AttentionOptions &options) {
    add_files(app, options);
    add_cache(app, options);
    add_masks(app, options);
    add_scores(app, options);
    add_positions(app, options);
    add_run_options(app, options.run);
    add_device(app, options.run.device);
}

} // namespace attune::tools
