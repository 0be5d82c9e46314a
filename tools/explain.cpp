// `attune explain`: which cells a mask lets attend, which blocks are skipped, and which kernel runs it.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attune/attune.hpp"
#include "commands.h"
#include "cpu_block.h"
#include "device.h"
#include "error.h"
#include "mask_picture.h"
#include "mask_question.h"
#include "options.h"
#include "output_set.h"
#include "runtime/src/kernel/own_kernel.h"
#include "schedules/cuda/block_sizes.h"

namespace attune::tools {
namespace {

constexpr int64_t largest_extent = INT32_MAX;

struct ExplainOptions {
    MaskOptions mask;
    std::optional<BlockSize> block; // not given: of the kernel
    int64_t head_dim = 64;
    std::string svg; // path; empty: not given
    std::string device = "cpu";
    attune_type dtype = ATTUNE_F32;
    bool json = false;
};

/** Who runs the mask: a linked kernel; or else why none does, and the call of CMake's that makes one, if one can be made. And what it skips
 * at once. */
struct Runner {
    std::string kernel, cmake, refusal;
    BlockSize block;
};

BlockSize block_on_cuda(const std::string &schedule, attune_type type, int32_t kernel_width) {
    schedules::CudaBlock block = schedules::simt_block(kernel_width);
    if (schedule == "mma") block = schedules::mma_block(kernel_width);
    if (schedule == "wgmma") block = schedules::wgmma_block(kernel_width);
    if (schedule == "split_kv") block = schedules::split_kv_block(kernel_width, type != ATTUNE_F32);
    return {block.queries, block.keys};
}

Runner runner_of(const ExplainOptions &options, const text::Mask &mask) {
    const bool cuda = options.device == "cuda";
    AttentionDesc desc;
    desc.dtype = options.dtype;
    desc.head_dim = options.head_dim;
    desc.mask = options.mask.text;
    desc.device = cuda ? ATTUNE_CUDA : ATTUNE_CPU;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    if (plan) {
        const attune_kernel &kernel = *plan->kernel_for(options.mask.queries, 1, 1, options.mask.keys);
        return {kernel.name, "", "", cuda ? block_on_cuda(kernel.schedule, options.dtype, kernel.head_dim) : cpu_block(kernel)};
    }
    // A kernel of one's own helps where the mask is in the way, and, on a CPU, where no linked kernel is of this type and width: without a
    // mask it's refused in the same words, then.
    desc.mask = "none";
    const Status refusal = plan.status(), without_mask = AttentionPlan::create(desc).status();
    const bool of_mask = refusal.message != without_mask.message;
    const bool helps = of_mask ? runtime::takes_mask(desc.device, mask) : !cuda && refusal.code == ATTUNE_UNSUPPORTED;
    const auto width = static_cast<int32_t>(options.head_dim);
    const char *usual = runtime::usual_schedule(desc.device, desc.dtype, width);
    return {"", helps ? runtime::cmake_line({desc.device, desc.dtype, width, width, options.mask.text}) : "", refusal.message,
            cuda ? block_on_cuda(usual, options.dtype, width) : cpu_block(options.dtype, width)};
}

/** The mask cut up in three ways: as work, and as each picture shows it. */
struct Grids {
    BlockGrid blocks, characters, marks;

    Grids(const ExplainOptions &options, const BlockSize &block)
        : blocks(options.mask.queries, options.mask.keys, block),
          characters(options.mask.queries, options.mask.keys,
                     cells_a_character(options.mask.queries, options.mask.keys, terminal_columns())),
          marks(options.mask.queries, options.mask.keys, cells_a_mark(options.mask.queries, options.mask.keys, blocks.size())) {}

    int64_t cells() const { return blocks.queries() * blocks.keys(); }
    int64_t block_count() const { return blocks.rows() * blocks.columns(); }
};

double percent(int64_t part, int64_t whole) { return 100 * static_cast<double>(part) / static_cast<double>(whole); }

void print_json(const ExplainOptions &options, const Grids &grids, const Runner &runner) {
    using Json = nlohmann::ordered_json;
    const auto named = [](const std::string &text) { return text.empty() ? Json() : Json(text); };
    Json grid = Json::array();
    for (int64_t row = 0; row < grids.blocks.rows(); ++row)
        grid.push_back(grids.blocks.line(row));
    const auto count = [&](BlockKind kind) { return grids.blocks.count(kind); };
    Json report = {
        {"mask", options.mask.text},
        {"queries", options.mask.queries},
        {"keys", options.mask.keys},
        {"cells", {{"total", grids.cells()}, {"attended", grids.blocks.attended()}}},
        {"block", {{"queries", grids.blocks.size().queries}, {"keys", grids.blocks.size().keys}}},
        {"blocks",
         {{"total", grids.block_count()},
          {"empty", count(BlockKind::empty)},
          {"partial", count(BlockKind::partial)},
          {"full", count(BlockKind::full)}}},
        {"skipped", static_cast<double>(count(BlockKind::empty)) / static_cast<double>(grids.block_count())},
        {"kernel", named(runner.kernel)},
        {"attune_add_kernel", named(runner.cmake)},
        {"refusal", named(runner.refusal)},
        {"grid", std::move(grid)},
    };
    fmt::print("{}\n", report.dump(2));
}

void print_report(const ExplainOptions &options, const Grids &grids, const Runner &runner) {
    const BlockSize &character = grids.characters.size();
    const bool of_cells = character.queries == 1 && character.keys == 1;
    fmt::print("{}\n\n{}\n", options.mask.text, text_picture(grids.characters, colours_wanted()));
    fmt::print("shown    {}\n", of_cells ? "each character is a cell: # attends, . doesn't"
                                         : fmt::format("each character is {} queries x {} keys: # all attend, + some, . none",
                                                       character.queries, character.keys));
    fmt::print("cells    {} of {} attend ({:.1f} %)\n", grids.blocks.attended(), grids.cells(),
               percent(grids.blocks.attended(), grids.cells()));
    fmt::print("blocks   {} of {} queries x {} keys: {} full, {} partial, {} empty\n", grids.block_count(), grids.blocks.size().queries,
               grids.blocks.size().keys, grids.blocks.count(BlockKind::full), grids.blocks.count(BlockKind::partial),
               grids.blocks.count(BlockKind::empty));
    fmt::print("skipped  {:.1f} % of the blocks; {:.1f} % are computed and masked\n",
               percent(grids.blocks.count(BlockKind::empty), grids.block_count()),
               percent(grids.blocks.count(BlockKind::partial), grids.block_count()));
    if (!runner.cmake.empty())
        fmt::print("kernel   none that is linked in runs it; this line of CMake makes one:\n         {}\n", runner.cmake);
    else if (!runner.refusal.empty())
        fmt::print("kernel   none: {}\n", runner.refusal);
    else
        fmt::print("kernel   {}\n", runner.kernel);
}

void explain(const ExplainOptions &options) {
    MaskQuestion question(options.mask);
    std::string svg;
    OutputSet outputs;
    if (!options.svg.empty()) outputs.add("--svg", options.svg, svg);
    const Runner runner = runner_of(options, question.mask());

    Grids grids(options, options.block.value_or(runner.block));
    std::vector<BlockGrid *> wanted = {&grids.blocks};
    if (!options.json) wanted.push_back(&grids.characters);
    if (!options.svg.empty()) wanted.push_back(&grids.marks);
    question.for_each_row([&](const uint8_t *allowed) {
        for (BlockGrid *grid : wanted)
            grid->add_row(allowed);
    });
    if (!options.svg.empty()) svg = svg_picture(options.mask.text, grids.marks, grids.blocks);
    outputs.commit();
    options.json ? print_json(options, grids, runner) : print_report(options, grids, runner);
}

BlockSize parse_block(const std::string &text) {
    const std::size_t cross = text.find('x');
    if (cross == std::string::npos) bad_argument("--block is {}; it must be two integers, as in 32x12", text);
    return {parse_integer("--block", text.substr(0, cross), 1, largest_extent),
            parse_integer("--block", text.substr(cross + 1), 1, largest_extent)};
}

void add_data(CLI::App &app, MaskOptions &mask) {
    app.add_option_function<std::string>(
        "--offset", [&mask](const std::string &text) { mask.offset = parse_integer("--offset", text, INT64_MIN, INT64_MAX); },
        "Key position of query 0");
    app.add_option_function<std::string>(
        "--length", [&mask](const std::string &text) { mask.length = parse_integer("--length", text, 0, largest_extent); },
        "For the term lengths: keys in use, 0 to M");
    app.add_option("--param", mask.parameters, "NAME=NUMBER for a name in the mask; may be given for each")->allow_extra_args(false);
    add_text(app, "--documents", mask.documents, "For the term documents: <i4 or <i8 .npy, [M], the document of each key");
    add_text(app, "--query-documents", mask.query_documents, "The same of each query, [N]; as --documents by default, where N = M");
    add_text(app, "--block-map", mask.block_map, "For the term blocks(Q, K): |b1 .npy, [ceil(N / Q), ceil(M / K)]");
    add_text(app, "--mask-tensor", mask.mask_tensor, "For the term tensor: |b1 .npy, [N, M]");
}

} // namespace

void add_explain(CLI::App &parent) {
    CLI::App *app = parent.add_subcommand("explain", "Draw a mask: which cells attend, which blocks are skipped, which kernel runs it");
    const auto options = std::make_shared<ExplainOptions>();
    add_text(*app, "MASK", options->mask.text, "Textual mask, for one head of one batch item")->required();
    add_integer(*app, "--queries", options->mask.queries, 1, largest_extent, "N")->required();
    add_integer(*app, "--keys", options->mask.keys, 1, largest_extent, "M")->required();
    app->add_option_function<std::string>(
        "--block", [options](const std::string &text) { options->block = parse_block(text); },
        "Blocks that are skipped at once, queries x keys; by default those of the kernel that runs the mask here");
    add_data(*app, options->mask);
    add_integer(*app, "--head-dim", options->head_dim, 1, largest_extent, "D of the kernel that is looked for; 64 by default");
    add_device(*app, options->device);
    app->add_option_function<std::string>(
        "--dtype", [options](const std::string &text) { options->dtype = parse_dtype(text); },
        "Type of the kernel that is looked for: f32, the default, f16 or bf16");
    add_text(*app, "--svg", options->svg, "Also write the picture to this file");
    app->add_flag("--json", options->json, "Print one JSON object instead: the counts, and each block as . + or #")
        ->disable_flag_override();
    app->callback([options] { explain(*options); });
}

} // namespace attune::tools
