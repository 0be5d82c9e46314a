// `attune run add-positions`: a row of a position table added to each token of a .npy file.
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

struct AddPositionsCommand {
    std::string input, output, table, positions; // paths; empty: not given
    AddPositionsOptions added;
    RunOptions run;
};

void run_add_positions(const AddPositionsCommand &command) {
    const Array x = read_npy(command.input, {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16});
    if (x.shape.size() < 2 || x.shape.size() > 4) bad_argument("{} has rank {}; it must be 2 to 4", command.input, x.shape.size());
    const OptionalArray table = read_optional(command.table, {ATTUNE_F32}), positions = read_positions(command.positions);
    const Array y = make_array(x.type, x.shape, command.output);
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    AddPositionsOptions options = command.added;
    DeviceTensors tensors(command.run.device);
    options.table = tensors.optional_input(table.view(), "--table");
    options.positions = tensors.optional_input(positions.view(), "--positions");
    options.schedule = command.run.schedule;
    require_ok(add_positions(tensors.input(view(x)), tensors.output(view(y)), options, &call));
    tensors.fetch();
    outputs.commit();
}

} // namespace

void add_run_add_positions(CLI::App &run) {
    constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
    CLI::App *app = run.add_subcommand("add-positions", "Positions added to the input: the sinusoidal table, or a learned one");
    const auto command = std::make_shared<AddPositionsCommand>();
    add_text(*app, "X", command->input, "Input: <f4, <f2 or bf16 (<u2 or <V2) .npy, [N,D], [H,N,D] or [B,H,N,D]")->required();
    add_text(*app, "-o,--output", command->output, "Output: shape and type of X")->required();
    add_text(*app, "--table", command->table, "Learned table: <f4 [P,D]; the sinusoidal table by default");
    add_double(*app, "--base", command->added.base, positive, "Base of the sinusoidal table; 10000 by default");
    add_integer(*app, "--offset", command->added.offset, low, high, "Position of token 0; 0 by default");
    add_text(*app, "--positions", command->positions, "Position of each token: integers, [N] or [B,N]");
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_add_positions(*command); });
}

} // namespace attune::tools
