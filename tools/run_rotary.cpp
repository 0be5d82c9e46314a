// `attune run rotary`: rotary position embedding of a .npy file.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "device.h"
#include "error.h"
#include "npy.h"
#include "options.h"
#include "output_set.h"

namespace attune::tools {
namespace {

struct RotaryCommand {
    std::string input, output, positions; // paths; empty: not given
    int64_t axes = 0;
    RotaryOptions rotary;
    RunOptions run;
};

void run_rotary(const RotaryCommand &command) {
    const Array x = read_npy(command.input, {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16});
    if (x.shape.size() < 2 || x.shape.size() > 4) bad_argument("{} has rank {}; it must be 2 to 4", command.input, x.shape.size());
    const OptionalArray positions = read_positions(command.positions);
    const Array y = make_array(x.type, x.shape, command.output);
    OutputSet outputs;
    outputs.add("-o", command.output, y);
    attune_call call = command.run.call();
    RotaryOptions options = command.rotary;
    DeviceTensors tensors(command.run.device);
    options.positions = tensors.optional_input(positions.view(), "--positions");
    options.axes = static_cast<int32_t>(command.axes);
    options.schedule = command.run.schedule;
    require_ok(rotary(tensors.input(view(x)), tensors.output(view(y)), options, &call));
    tensors.fetch();
    outputs.commit();
}

attune_rotary_layout parse_layout(const std::string &text) {
    if (text != "half" && text != "interleaved") bad_argument("--layout is {}; it must be half or interleaved", text);
    return text == "half" ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
}

std::vector<int32_t> parse_sections(const std::string &text) {
    std::vector<int32_t> sections;
    for (std::string::size_type begin = 0; begin <= text.size();) {
        const std::string::size_type end = std::min(text.find(',', begin), text.size());
        const int64_t pairs = parse_integer("--sections", text.substr(begin, end - begin), 0, std::numeric_limits<int32_t>::max());
        sections.push_back(static_cast<int32_t>(pairs));
        begin = end + 1;
    }
    return sections;
}

void add_positions_options(CLI::App &app, RotaryCommand &command) {
    constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
    RotaryOptions &rotary = command.rotary;
    add_integer(app, "--offset", rotary.offset, low, high, "Position of token 0; 0 by default");
    add_text(app, "--positions", command.positions, "Position of each token: integers, [N], [B,N] or, with sections or axes, [S,B,N]");
    add_text(app, "--scaling", rotary.scaling, "linear(s), ntk(s), yarn(s, original) or llama3(s, low, high, original)");
    app.add_option_function<std::string>(
        "--sections", [&rotary](const std::string &text) { rotary.sections = parse_sections(text); },
        "M-RoPE: pairs that follow each stream of positions, separated by commas");
    add_integer(app, "--axes", command.axes, 0, std::numeric_limits<int32_t>::max(),
                "2 or more: equal shares of the channels, each with frequencies and positions of its own");
}

} // namespace

void add_run_rotary(CLI::App &run) {
    CLI::App *app = run.add_subcommand("rotary", "Rotary position embedding (RoFormer): pairs of channels turned by position x frequency");
    const auto command = std::make_shared<RotaryCommand>();
    RotaryOptions &rotary = command->rotary;
    add_text(*app, "X", command->input, "Input: <f4, <f2 or bf16 (<u2 or <V2) .npy, [N,D], [H,N,D] or [B,H,N,D]")->required();
    add_text(*app, "-o,--output", command->output, "Output: shape and type of X")->required();
    add_double(*app, "--base", rotary.base, positive, "Base of the frequencies; 10000 by default");
    app->add_option_function<std::string>(
        "--layout", [&rotary](const std::string &text) { rotary.layout = parse_layout(text); },
        "half: pairs (i, i + R/2), the default; interleaved: pairs (2i, 2i + 1)");
    add_integer(*app, "--rotary-dim", rotary.rotary_dim, 0, std::numeric_limits<int64_t>::max(),
                "R, even: the leading channels turned; 0, the default: all");
    add_positions_options(*app, *command);
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_rotary(*command); });
}

} // namespace attune::tools
