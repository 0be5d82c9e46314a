// The options of `attune run attention`.
#pragma once

#include <optional>
#include <string>

#include "options.h"

namespace attune::tools {

struct AttentionOptions {
    std::string q, k, v, output, lse, weights, scores; // paths; empty: not given
    std::optional<attune_type> dtype;                  // as Q's file says without it
    std::string mask = "none", score = "none", position = "none";
    std::string mask_tensor, bias, key_lengths, documents, query_documents, document_starts, block_map; // paths
    std::string t5_table, sinks, positions, key_positions, position_table;                              // paths
    std::string cache;                                                                                  // a folder; empty: not given
    bool cache_ring = false;
    std::string offset; // an integer or a path; empty: not given
    attune_score_stage score_stage = ATTUNE_SCORES_MASKED;
    std::optional<float> scale;
    float softcap = 0, temperature = 1, dropout = 0;
    uint64_t seed = 0;
    RunOptions run;
};

/** Declares all of them; `options` must live until parsing is done. */
void add_attention_options(CLI::App &app, AttentionOptions &options);

} // namespace attune::tools
