// `attune run log-sum-exp`: ln sum exp(x / T) over one axis of a .npy file.
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

struct LogSumExpCommand {
    AxisOptions files;
    std::string output;
    LogSumExpOptions log_sum_exp;
    RunOptions run;
};

void run_log_sum_exp(const LogSumExpCommand &command) {
    const AxisFiles in(command.files, {ATTUNE_F32});
    const Array y = make_array(ATTUNE_F32, in.reduced_shape(), command.output);
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    LogSumExpOptions options = command.log_sum_exp;
    DeviceTensors tensors(command.run.device);
    options.axis = in.axis(), options.mask = tensors.optional_input(in.mask(), "--mask-tensor"), options.schedule = command.run.schedule;
    require_ok(log_sum_exp(tensors.input(in.x()), tensors.output(in.view_of(y)), options, &call));
    tensors.fetch();
    outputs.commit();
}

} // namespace

void add_run_log_sum_exp(CLI::App &run) {
    CLI::App *app = run.add_subcommand("log-sum-exp", "ln sum exp(x / T) over one axis");
    const auto command = std::make_shared<LogSumExpCommand>();
    add_axis_options(*app, command->files, "<f4");
    add_text(*app, "-o,--output", command->output, "Output: shape of X with 1 on the axis")->required();
    add_float(*app, "--temperature", command->log_sum_exp.temperature, positive, "T; 1 by default");
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_log_sum_exp(*command); });
}

} // namespace attune::tools
