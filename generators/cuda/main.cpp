// attune_cuda_generator -g GENERATOR -f FUNCTION -o DIRECTORY -a ARCHITECTURES [-s STAGES] [-p PTXAS] target=TARGET
// [NAME=VALUE...]
//
// Runs a generator for CUDA and writes FUNCTION.o, FUNCTION.h, FUNCTION.ptx, the code for the GPU as text, and FUNCTION.json, what
// ptxas says of it. ARCHITECTURES are compute capabilities, lowest first ("80,86,89,90", or "90a" alone): the text is for the lowest, and
// where PTXAS is given the object holds machine code for each of them beside the text. STAGES is how many blocks of keys the schedule keeps
// in shared memory at once (dsl::FragmentBlocking). Exit 1, with a sentence on stderr, where something is wrong.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "generators/cuda/device_code.h"
#include "generators/cuda/shares_multiprocessor.h"
#include "generators/ptx/assemble.h"
#include "generators/ptx/rewrite.h"

namespace {

using namespace attune;

struct Arguments {
    std::string generator, function, directory, ptxas, target;
    std::vector<std::string> architectures; // "80", "90a"
    int stages = 1;
    std::vector<std::pair<std::string, std::string>> parameters;
};

[[noreturn]] void refuse(const std::string &sentence) { throw std::runtime_error("attune_cuda_generator: " + sentence); }

std::vector<std::string> architectures_of(const std::string &list) {
    std::vector<std::string> found;
    std::istringstream in(list);
    for (std::string word; std::getline(in, word, ',');)
        found.push_back(word);
    const auto is_known = [](const std::string &word) {
        return word.size() >= 2 && word.size() <= 3 && std::isdigit(word[0]) && std::isdigit(word[1]) &&
               (word.size() == 2 || word[2] == 'a');
    };
    if (found.empty() || !std::is_sorted(found.begin(), found.end()) || !std::all_of(found.begin(), found.end(), is_known))
        refuse("-a is \"" + list + "\"; it must be compute capabilities, lowest first, such as 80,90 or 90a");
    return found;
}

int stages_of(const std::string &value) {
    if (value.size() != 1 || value[0] < '1' || value[0] > '9') refuse("-s is \"" + value + "\"; it must be a number of stages, 1 to 9");
    return value[0] - '0';
}

Arguments parse(int argc, char **argv) {
    Arguments arguments;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const size_t equals = word.find('=');
        if (equals != std::string::npos && word[0] != '-') {
            const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
            if (name == "target")
                arguments.target = value;
            else
                arguments.parameters.emplace_back(name, value);
            continue;
        }
        if (++i == argc) refuse(word + " has no value");
        const std::string value = argv[i];
        if (word == "-g")
            arguments.generator = value;
        else if (word == "-f")
            arguments.function = value;
        else if (word == "-o")
            arguments.directory = value;
        else if (word == "-p")
            arguments.ptxas = value;
        else if (word == "-a")
            arguments.architectures = architectures_of(value);
        else if (word == "-s")
            arguments.stages = stages_of(value);
        else
            refuse("\"" + word + "\" is no option; there are -g, -f, -o, -a, -s and -p");
    }
    for (const auto &[name, value] :
         {std::pair{"-g", arguments.generator}, {"-f", arguments.function}, {"-o", arguments.directory}, {"target", arguments.target}})
        if (value.empty()) refuse(std::string(name) + " is missing");
    if (arguments.architectures.empty()) refuse("-a is missing");
    return arguments;
}

void write(const std::string &path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) refuse("can't write " + path);
}

struct Compiled {
    Halide::Module module;
    int blocks_per_multiprocessor, threads_per_multiprocessor;
};

Compiled compile(const Arguments &arguments) {
    const Halide::GeneratorContext context{Halide::Target(arguments.target)};
    const auto generator = Halide::Internal::GeneratorRegistry::create(arguments.generator, context);
    if (!generator) refuse("-g is \"" + arguments.generator + "\", which is no generator");
    for (const auto &[name, value] : arguments.parameters)
        generator->set_generatorparam_value(name, value);
    const auto *sharing = dynamic_cast<const generators::SharesMultiprocessor *>(generator.get());
    const Halide::Module module = generator->build_module(arguments.function); // before parameters may be read
    return {module, sharing ? sharing->blocks_per_multiprocessor() : 1, sharing ? sharing->threads_per_multiprocessor() : 0};
}

constexpr int first_with_async_copies = 80;

/** The PTX as it goes to ptxas. */
std::string rewritten(const Compiled &compiled, const Arguments &arguments) {
    ptx::RewriteOptions options;
    const std::string lowest = arguments.architectures.front();
    options.arch = "sm_" + lowest;
    options.async_copies = std::stoi(lowest) >= first_with_async_copies;
    options.stages = arguments.stages;
    options.blocks_per_sm = compiled.blocks_per_multiprocessor;
    options.threads_per_sm = compiled.threads_per_multiprocessor;
    options.threads = generators::block_threads(compiled.module);
    return ptx::rewrite(generators::device_code(compiled.module), options);
}

ptx::DeviceCode assembled(const std::string &text, const Arguments &arguments) {
    ptx::Source source{text, {}, true};
    for (const std::string &number : arguments.architectures)
        source.architectures.push_back("sm_" + number);
    return ptx::assemble({source}, {arguments.ptxas, arguments.directory});
}

/** FUNCTION.json: what ptxas says of each kernel, one a line. */
std::string figures_text(const std::vector<ptx::KernelFigures> &figures) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ptx::KernelFigures &kernel : figures)
        list.push_back({{"kernel", kernel.kernel},
                        {"arch", kernel.arch},
                        {"registers", kernel.registers},
                        {"stack_bytes", kernel.stack_bytes},
                        {"spill_stores", kernel.spill_stores},
                        {"spill_loads", kernel.spill_loads},
                        {"shared_bytes", kernel.shared_bytes}});
    return list.dump(1) + "\n";
}

void run(const Arguments &arguments) {
    const Compiled compiled = compile(arguments);
    const std::string path = arguments.directory + "/" + arguments.function, text = rewritten(compiled, arguments);
    write(path + ".ptx", text);
    const ptx::DeviceCode code = assembled(text, arguments);
    write(path + ".json", figures_text(code.figures));
    const Halide::Module changed = generators::with_device_code(compiled.module, code.fatbin);
    changed.compile({{Halide::OutputFileType::object, path + ".o"}, {Halide::OutputFileType::c_header, path + ".h"}});
}

/** What Halide throws while it lowers a pipeline passes a change of stacks, which no handler outside sees beyond. */
[[noreturn]] void end_with_message() {
    try {
        if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const Halide::Error &error) {
        std::cerr << error.what() << "\n";
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
    }
    std::_Exit(1);
}

} // namespace

int main(int argc, char **argv) {
    std::set_terminate(end_with_message);
    try {
        run(parse(argc, argv));
        return 0;
    } catch (const Halide::Error &error) {
        std::cerr << error.what() << "\n";
        return 1;
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
