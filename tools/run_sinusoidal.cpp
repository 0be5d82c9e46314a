// `attune run sinusoidal`: the sinusoidal position table as a .npy file.
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

struct SinusoidalCommand {
    std::string output;
    int64_t tokens = 0, dim = 0;
    attune_type dtype = ATTUNE_F32;
    SinusoidalOptions sinusoidal;
    RunOptions run;
};

void run_sinusoidal(const SinusoidalCommand &command) {
    const Array y = make_array(command.dtype, {command.tokens, command.dim}, "--tokens x --dim");
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    SinusoidalOptions options = command.sinusoidal;
    options.schedule = command.run.schedule;
    DeviceTensors tensors(command.run.device);
    require_ok(sinusoidal(tensors.output(view(y)), options, &call));
    tensors.fetch();
    outputs.commit();
}

} // namespace

void add_run_sinusoidal(CLI::App &run) {
    constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
    constexpr int64_t max_extent = std::numeric_limits<int32_t>::max(); // what kernels can index
    CLI::App *app = run.add_subcommand("sinusoidal", "Sinusoidal position table [tokens, dim]: even columns sine, odd columns cosine");
    const auto command = std::make_shared<SinusoidalCommand>();
    add_integer(*app, "--tokens", command->tokens, 0, max_extent, "Rows")->required();
    add_integer(*app, "--dim", command->dim, 1, max_extent, "Columns")->required();
    add_text(*app, "-o,--output", command->output, "Output: [tokens, dim]")->required();
    app->add_option_function<std::string>(
        "--dtype", [command](const std::string &text) { command->dtype = parse_dtype(text); },
        "Type of the output: f32, the default, f16 or bf16 (as <u2)");
    add_double(*app, "--base", command->sinusoidal.base, positive, "Base of the frequencies; 10000 by default");
    add_integer(*app, "--offset", command->sinusoidal.offset, low, high, "Position of row 0; 0 by default");
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_sinusoidal(*command); });
}

} // namespace attune::tools
