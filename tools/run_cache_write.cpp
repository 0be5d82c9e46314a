// `attune run cache-write`: new tokens into a cache of keys or values, as a new .npy file.
#include <limits>
#include <memory>
#include <string>

#include "commands.h"
#include "device.h"
#include "error.h"
#include "npy.h"
#include "options.h"
#include "output_set.h"

namespace attune::tools {
namespace {

struct CacheWriteCommand {
    std::string cache, update, output, starts; // paths; empty: not given
    int64_t axis = -2;
    bool circular = false;
    std::string device = "cpu";
};

void require_rank(const Array &array, const std::string &file, std::size_t low, std::size_t high) {
    if (array.shape.size() >= low && array.shape.size() <= high) return;
    const std::string limit = low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
    bad_argument("{} has rank {}; it must be {}", file, array.shape.size(), limit);
}

/** What a call on a GPU can't look at, and leaves out where it is wrong. Shapes are left to the library. */
void check_starts(const CacheWriteCommand &command, const Array &cache, const Array &update, const Array &starts) {
    const auto rank = static_cast<int64_t>(cache.shape.size());
    const int64_t axis = command.axis < 0 ? command.axis + rank : command.axis;
    if (axis < 1 || axis >= rank) return;
    const auto tokens = update.shape[static_cast<size_t>(axis)], last = cache.shape[static_cast<size_t>(axis)] - tokens;
    for (int64_t b = 0; b < element_count(starts.shape, command.starts) && last >= 0; ++b) {
        const int64_t start = integer_at(starts, b);
        if (start < 0 && command.circular) bad_argument("{} holds {}; it must be 0 or more", command.starts, start);
        if (!command.circular && (start < 0 || start > last))
            bad_argument("{} holds {}; with {} new tokens it must be 0 to {}", command.starts, start, tokens, last);
    }
}

/** In place on the CPU; on a GPU in a copy there. */
void write_into(const Array &cache, const Array &update, const Array &starts, const CacheWriteCommand &command) {
    DeviceTensors tensors(command.device);
    const TensorView host_starts = starts.data ? view(starts) : TensorView();
    if (starts.data && tensors.device() == ATTUNE_CUDA) check_starts(command, cache, update, starts);
    const TensorView *given = tensors.optional_input(starts.data ? &host_starts : nullptr, command.starts);
    const CacheWriteOptions options = {static_cast<int32_t>(command.axis), given, command.circular};
    require_ok(cache_write(tensors.in_place(view(cache)), tensors.input(view(update)), options));
    tensors.fetch();
}

void run_cache_write(const CacheWriteCommand &command) {
    const Array cache = read_npy(command.cache, {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16, ATTUNE_I32, ATTUNE_I64, ATTUNE_BOOL, ATTUNE_I8});
    const Array update = read_npy(command.update, {cache.type});
    require_rank(cache, command.cache, 2, ATTUNE_MAX_RANK);
    require_rank(update, command.update, cache.shape.size(), cache.shape.size());
    Array starts;
    if (!command.starts.empty()) {
        starts = read_npy(command.starts, {ATTUNE_I32, ATTUNE_I64});
        require_rank(starts, command.starts, 1, 1);
    }
    OutputSet outputs;
    outputs.add("-o", command.output, cache);
    write_into(cache, update, starts, command);
    outputs.commit();
}

} // namespace

void add_run_cache_write(CLI::App &run) {
    CLI::App *app = run.add_subcommand("cache-write", "New tokens of each batch item into a cache (ONNX TensorScatter)");
    const auto command = std::make_shared<CacheWriteCommand>();
    add_text(*app, "CACHE", command->cache,
             "Cache: .npy, [B,...,capacity,...], float32, float16, bf16 (<u2 or <V2), int32, int64, int8 or bool")
        ->required();
    add_text(*app, "UPDATE", command->update, "New tokens: type and shape of CACHE, but for the tokens' axis")->required();
    add_text(*app, "-o,--output", command->output, "Output: the cache with the tokens in it")->required();
    add_text(*app, "--starts", command->starts, "Where each item's first token goes: integers, [B]; 0 by default");
    add_integer(*app, "--axis", command->axis, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(),
                "The tokens' axis, counted from the end if negative; -2 by default");
    app->add_flag("--circular", command->circular, "Positions past the capacity start again at 0")->disable_flag_override();
    add_device(*app, command->device, "cpu, the default, or cuda: an NVIDIA GPU, for float32, float16 and bf16");
    app->callback([command] { run_cache_write(*command); });
}

} // namespace attune::tools
