// `attune run softmax`: softmax or log-softmax over the last axis of a .npy file.
#include <memory>
#include <string>

#include "commands.h"
#include "error.h"
#include "npy.h"
#include "options.h"
#include "output_set.h"

namespace attune::tools {
namespace {

struct SoftmaxCommand {
    std::string input, output;
    SoftmaxOptions softmax;
    RunOptions run;
};

/** The array as [rows, columns], so that any rank will do: it is contiguous. */
TensorView as_rows(const Array &array) {
    const int64_t columns = array.shape.back();
    const Shape leading(array.shape.begin(), array.shape.end() - 1);
    const Shape shape = {element_count(leading, "the leading axes"), columns};
    return attune_contiguous(array.data.get(), array.type, 2, shape.data());
}

void run_softmax(const SoftmaxCommand &command) {
    const Array x = read_npy(command.input, {ATTUNE_F32});
    if (x.shape.empty()) bad_argument("{} has rank 0; softmax needs at least 1 axis", command.input);
    const Array y = make_array(ATTUNE_F32, x.shape, command.output);
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    SoftmaxOptions options = command.softmax;
    options.schedule = command.run.schedule;
    require_ok(softmax(as_rows(x), as_rows(y), options, &call));
    outputs.commit();
}

} // namespace

void add_run_softmax(CLI::App &run) {
    CLI::App *app = run.add_subcommand("softmax", "exp(x / T - logsumexp(x / T)) over the last axis, or its logarithm");
    const auto command = std::make_shared<SoftmaxCommand>();
    add_text(*app, "X", command->input, "Input: <f4 .npy of any rank from 1")->required();
    add_text(*app, "-o,--output", command->output, "Output: shape of X")->required();
    add_float(*app, "--temperature", command->softmax.temperature, positive, "T; 1 by default");
    app->add_flag("--log", command->softmax.log, "Log-softmax")->disable_flag_override();
    add_run_options(*app, command->run);
    app->callback([command] { run_softmax(*command); });
}

} // namespace attune::tools
