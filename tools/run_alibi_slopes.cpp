// `attune run alibi-slopes`: ALiBi's slopes as a .npy file.
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

struct AlibiCommand {
    int64_t heads = 0;
    std::string output;
    RunOptions run;
};

void run_alibi_slopes(const AlibiCommand &command) {
    const Array y = make_array(ATTUNE_F32, {command.heads}, "HEADS");
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    DeviceTensors tensors(command.run.device);
    require_ok(alibi_slopes(tensors.output(view(y)), command.run.schedule, &call));
    tensors.fetch();
    outputs.commit();
}

} // namespace

void add_run_alibi_slopes(CLI::App &run) {
    CLI::App *app =
        run.add_subcommand("alibi-slopes", "ALiBi's slopes [heads]: 2^(-8 (h + 1) / heads), interpolated between powers of two");
    const auto command = std::make_shared<AlibiCommand>();
    add_integer(*app, "HEADS", command->heads, 0, std::numeric_limits<int32_t>::max(), "Number of heads")->required();
    add_text(*app, "-o,--output", command->output, "Output: <f4 [heads]")->required();
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_alibi_slopes(*command); });
}

} // namespace attune::tools
