// `attune run merge`: two attention results over disjoint sets of keys into that over both.
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

struct MergeCommand {
    std::string a, a_lse, b, b_lse, output, lse; // paths; lse may be empty
    RunOptions run;
};

/** One result: `out` [B,H,N,Dv], [H,N,Dv] or [N,Dv], and `lse`, the same without Dv. */
struct PartialFiles {
    Array out, lse;

    PartialFiles(const std::string &out_file, const std::string &lse_file)
        : out(read_npy(out_file, {ATTUNE_F32})), lse(read_npy(lse_file, {ATTUNE_F32})) {
        if (out.shape.size() < 2 || out.shape.size() > 4) bad_argument("{} has rank {}; it must be 2 to 4", out_file, out.shape.size());
        const Shape rows(out.shape.begin(), out.shape.end() - 1);
        if (lse.shape != rows)
            bad_argument("{} has shape {}; it must be {}, as {} has without its last axis", lse_file, shape_text(lse.shape),
                         shape_text(rows), out_file);
    }
    Partial views() const { return {view(out, 4), view(lse, 3)}; }
};

/** Merges into the memory of `a`. */
void run_merge(const MergeCommand &command) {
    const PartialFiles a(command.a, command.a_lse), b(command.b, command.b_lse);
    if (b.out.shape != a.out.shape)
        bad_argument("{} has shape {}; it must be {}, as {} has", command.b, shape_text(b.out.shape), shape_text(a.out.shape), command.a);
    OutputSet outputs;
    outputs.add("-o", command.output, a.out);
    if (!command.lse.empty()) outputs.add("--lse", command.lse, a.lse);
    attune_call call = command.run.call();
    DeviceTensors tensors(command.run.device);
    const auto on_device = [&](const Partial &partial) { return Partial{tensors.input(partial.out), tensors.input(partial.lse)}; };
    // On the CPU the result takes the place of `a`; on a GPU it has one of its own.
    const Partial merged = {tensors.output(a.views().out), tensors.output(a.views().lse)};
    require_ok(merge(on_device(a.views()), on_device(b.views()), merged, command.run.schedule, &call));
    tensors.fetch();
    outputs.commit();
}

} // namespace

void add_run_merge(CLI::App &run) {
    CLI::App *app = run.add_subcommand("merge", "Attention over the union of two disjoint sets of keys, from the results over each");
    const auto command = std::make_shared<MergeCommand>();
    add_text(*app, "A", command->a, "One result: <f4 .npy, [B,H,N,Dv], [H,N,Dv] or [N,Dv]")->required();
    add_text(*app, "A_LSE", command->a_lse, "Its log-sum-exp: the shape of A without Dv")->required();
    add_text(*app, "B", command->b, "The other result: the shape of A")->required();
    add_text(*app, "B_LSE", command->b_lse, "Its log-sum-exp")->required();
    add_text(*app, "-o,--output", command->output, "Output: the shape of A")->required();
    add_text(*app, "--lse", command->lse, "Also write the log-sum-exp of the union: the shape of A_LSE");
    add_run_options(*app, command->run);
    add_device(*app, command->run.device);
    app->callback([command] { run_merge(*command); });
}

} // namespace attune::tools
