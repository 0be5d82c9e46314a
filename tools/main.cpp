// The `attune` command: list what is linked in, run it on .npy files, explain masks, time it, show a model's weights of attention.
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "commands.h"
#include "error.h"

namespace attune::tools {
namespace {

/** The parser's message as one line: it puts its hints on lines of their own. */
std::string sentence(std::string text) {
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    for (std::string::size_type at; (at = text.find('\n')) != std::string::npos;)
        text.replace(at, 1, "; ");
    return text;
}

/** What the parser says, but for words it doesn't know: those it lists in an order of its own, or not at all. */
std::string parse_message(const CLI::App &app, const CLI::ParseError &error) {
    const std::vector<std::string> unknown = app.remaining(true);
    const CLI::App *command = &app;
    std::string name = "attune";
    for (; !command->get_subcommands().empty(); name += " " + command->get_name())
        command = command->get_subcommands().front();
    const std::vector<const CLI::App *> known = static_cast<const CLI::App *>(command)->get_subcommands({});
    if (!unknown.empty() && !known.empty() && unknown.front().rfind('-', 0) != 0) {
        std::vector<std::string> names;
        for (const CLI::App *each : known)
            names.push_back(each->get_name());
        return fmt::format("{} is not a command of {}; there are: {}", unknown.front(), name, fmt::join(names, ", "));
    }
    if (!unknown.empty()) return fmt::format("{} is not an argument of {}; its --help lists what there is", unknown.front(), name);
    if (!known.empty()) return fmt::format("{} needs a command; its --help lists them", name);
    std::string text = error.what();
    if (error.get_name() == "ArgumentMismatch")
        return fmt::format("{} must be given once, with one value if it takes any", text.substr(0, text.find_first_of(": ")));
    return text;
}

int fail(int exit_code, const std::string &text) {
    std::fputs(fmt::format("attune: {}\n", sentence(text)).c_str(), stderr); // where it can't be written the exit code says all
    return exit_code;
}

int fail_to_print() { return fail(exit_failure, "standard output could not be written in full"); }

/** A full disk behind stdout often shows only when the last bytes are flushed. */
int finish() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : fail_to_print(); }

void declare(CLI::App &app) {
    app.name("attune");
    app.set_version_flag("--version", "attune " ATTUNE_VERSION);
    app.footer("Exits with 0; with 2 where an argument or a file that is read is at fault, with 1 where something else failed, such as a "
               "full disk. One "
               "sentence on standard error says what.");
    app.require_subcommand(1);
    add_list(app);
    CLI::App *run = app.add_subcommand("run", "Run one operation on .npy files");
    run->require_subcommand(1);
    add_run_attention(*run);
    add_run_softmax(*run);
    add_run_log_sum_exp(*run);
    add_run_merge(*run);
    add_run_mha(*run);
    add_run_alibi_slopes(*run);
    add_run_rotary(*run);
    add_run_sinusoidal(*run);
    add_run_add_positions(*run);
    add_run_cache_write(*run);
    add_explain(app);
    add_bench(app);
    add_trace(app);
}

int parse_and_run(int argc, char **argv) {
    CLI::App app("Attention kernels generated ahead of time: list them, run them on .npy files, explain masks, time them, see what a model "
                 "attends to.");
    declare(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() != 0) return fail(exit_bad_argument, parse_message(app, error));
        app.exit(error); // --help and --version print themselves
    }
    return finish();
}

} // namespace
} // namespace attune::tools

int main(int argc, char **argv) {
    using namespace attune::tools;
    std::signal(SIGXFSZ, SIG_IGN); // past the file size limit, write() then fails and is reported like a full disk
    try {
        return parse_and_run(argc, argv);
    } catch (const CommandError &error) {
        return fail(error.exit_code, error.what());
    } catch (const std::bad_alloc &) {
        return fail(exit_failure, "out of memory");
    } catch (const std::system_error &) { // fmt's, for a print that failed; files have errors of their own
        return fail_to_print();
    } catch (const std::exception &error) {
        return fail(exit_failure, error.what());
    }
}
