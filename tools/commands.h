// The subcommands. Each function declares one, its options and what it does, on `parent`; parsing runs it.
#pragma once

#include <CLI/CLI.hpp>

namespace attune::tools {

void add_list(CLI::App &parent);
void add_run_attention(CLI::App &run);
void add_run_softmax(CLI::App &run);
void add_run_log_sum_exp(CLI::App &run);
void add_run_merge(CLI::App &run);
void add_run_mha(CLI::App &run);
void add_run_alibi_slopes(CLI::App &run);
void add_run_rotary(CLI::App &run);
void add_run_sinusoidal(CLI::App &run);
void add_run_add_positions(CLI::App &run);
void add_run_cache_write(CLI::App &run);
void add_explain(CLI::App &parent);
void add_bench(CLI::App &parent);
void add_trace(CLI::App &parent);

} // namespace attune::tools
