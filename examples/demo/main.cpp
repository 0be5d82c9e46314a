// What `./dev demo` shows: attention on a sentence, whole, and on a realistic shape, timed.
#include <attune/attune.hpp>

#include <string_view>

#include <fmt/format.h>

#include "demo.h"

int main(int argc, char **argv) {
    bool colours = demo::terminal_has_colours();
    for (int i = 1; i < argc; i++) {
        const std::string_view argument = argv[i];
        if (argument == "--help" || argument == "-h") {
            fmt::print("Usage: demo [--color=always|never]\n");
            return 0;
        }
        if (argument != "--color=always" && argument != "--color=never") {
            fmt::print(stderr, "demo: {} is no argument of it; it takes --color=always or --color=never\n", argument);
            return 2;
        }
        colours = argument == "--color=always";
    }
    const demo::Terminal terminal(colours);
    fmt::print("{}, CPU class {}\n\n", terminal.bold("Attune " ATTUNE_VERSION), attune_cpu_class());
    return demo::show_sentence(terminal) && demo::show_realistic_shape(terminal) ? 0 : 1;
}
