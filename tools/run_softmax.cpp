// `attune run softmax`: softmax or log-softmax over one axis of a .npy file.
#include <memory>
#include <string>

#include "axis_files.h"
#include "commands.h"
#include "device.h"
#include "error.h"
#include "options.h"
#include "output_set.h"

namespace attune::tools {
namespace {

struct SoftmaxCommand {
    AxisOptions files;
    std::string output;
    SoftmaxOptions softmax;
    RunOptions run;
};

void run_softmax(const SoftmaxCommand &command) {
    const AxisFiles in(command.files, {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16});
    const Array y = make_array(in.type(), in.shape(), command.output);
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    SoftmaxOptions options = command.softmax;
    DeviceTensors tensors(command.run.device);
    options.axis = in.axis(), options.mask = tensors.optional_input(in.mask(), "--mask-tensor"), options.schedule = command.run.schedule;
    require_ok(softmax(tensors.input(in.x()), tensors.output(in.view_of(y)), options, &call));
    tensors.fetch();
    outputs.commit();
}

} // namespace

void add_run_softmax(CLI::App &run) {
    CLI::App *app = run.add_subcommand("softmax", "exp(x / T - logsumexp(x / T)) over one axis, or its logarithm");
    const auto command = std::make_shared<SoftmaxCommand>();
    add_axis_options(*app, command->files, "<f4, <f2 or, as bf16, <u2 or <V2");
    add_text(*app, "-o,--output", command->output, "Output: shape and type of X")->required();
    add_float(*app, "--temperature", command->softmax.temperature, positive, "T; 1 by default");
    app->add_flag("--log", command->softmax.log, "Log-softmax")->disable_flag_override();
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_softmax(*command); });
}

} // namespace attune::tools
