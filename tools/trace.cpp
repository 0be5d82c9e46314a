// `attune trace`: what a model attends to in a text, as a page.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "commands.h"
#include "error.h"
#include "gpt/error.h"
#include "gpt/families.h"
#include "gpt/tokenizer.h"
#include "mask_question.h"
#include "options.h"
#include "output_set.h"
#include "trace_page.h"

namespace attune::tools {
namespace {

constexpr std::size_t most_tokens = 256; // a page of more is past what browsers draw at once

struct TraceOptions {
    std::string folder, prompt, output;
    int64_t threads = 0;
};

std::vector<uint8_t> allowed_cells(const std::string &mask, int64_t count) {
    MaskOptions options;
    options.text = mask, options.queries = options.keys = count;
    MaskQuestion question(options);
    std::vector<uint8_t> allowed;
    question.for_each_row([&](const uint8_t *row) { allowed.insert(allowed.end(), row, row + count); });
    return allowed;
}

/** The last part of a path, whether or not a slash follows it. */
std::string name_of_folder(const std::string &path) {
    const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
    return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

/** Appends [heads, N, N] to the trace, of weights [1, heads, N, M] of a cache with room for M >= N. */
void add_layer(Trace &trace, const TensorView &weights) {
    const int64_t heads = weights.extent[1], count = weights.extent[2], capacity = weights.extent[3];
    for (int64_t row = 0; row < heads * count; ++row) {
        const float *from = static_cast<const float *>(weights.data) + row * capacity;
        if (std::any_of(from, from + count, [](float weight) { return std::isnan(weight); }))
            bad_argument("the model's weights of attention are no numbers in layer {}", trace.layers);
        trace.weights.insert(trace.weights.end(), from, from + count);
    }
    trace.layers += 1, trace.heads = heads;
}

Trace make_trace(const TraceOptions &options) {
    const gpt::Tokenizer tokenizer = gpt::Tokenizer::load(options.folder);
    const std::vector<int32_t> tokens = tokenizer.encode(options.prompt);
    if (tokens.empty() || tokens.size() > most_tokens)
        bad_argument("--prompt has {} tokens; it must have 1 to {}", tokens.size(), most_tokens);
    gpt::Decoder decoder(gpt::load_network(gpt::Checkpoint(options.folder), ATTUNE_F32), static_cast<int32_t>(options.threads));
    const auto count = static_cast<int64_t>(tokens.size());
    Trace trace;
    trace.title = fmt::format("{}: {}", shown_text(name_of_folder(options.folder)), shown_text(options.prompt));
    trace.mask = decoder.shape().mask, trace.allowed = allowed_cells(trace.mask, count);
    for (int32_t token : tokens)
        trace.tokens.push_back(shown_token(tokenizer.piece(token).empty() ? fmt::format("#{}", token) : tokenizer.piece(token)));
    attune::KvCache cache = decoder.make_cache(count, (count + gpt::Decoder::page_tokens - 1) / gpt::Decoder::page_tokens);
    require_ok(cache.add().status());
    decoder.observe([&](std::size_t, const TensorView &weights) { add_layer(trace, weights); });
    decoder.run(cache, {{0}, tokens});
    return trace;
}

void run_trace(const TraceOptions &options) {
    std::string page;
    OutputSet outputs;
    outputs.add("-o", options.output, page);
    try {
        page = trace_page(make_trace(options));
    } catch (const gpt::Error &error) {
        bad_argument("{}", error.what());
    }
    outputs.commit();
}

} // namespace

void add_trace(CLI::App &parent) {
    CLI::App *app = parent.add_subcommand("trace", "Draw what a GPT-2- or Llama-style model attends to in a text, by layer and head");
    const auto options = std::make_shared<TraceOptions>();
    add_text(*app, "MODEL", options->folder, "Folder with config.json, model.safetensors and the tokenizer's files")->required();
    add_text(*app, "--prompt", options->prompt, "The text, of at most 256 tokens")->required();
    add_text(*app, "-o,--output", options->output, "The page, HTML that needs no other file")->required();
    add_integer(*app, "--threads", options->threads, 0, max_threads, "0: every CPU this process may use");
    app->callback([options] { run_trace(*options); });
}

} // namespace attune::tools
