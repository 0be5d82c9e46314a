#include "arguments.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "error.h"

namespace gpt {

const char *const usage = "Usage: gpt FOLDER [OPTION VALUE]...\n"
                          "Continues a text with the model in FOLDER: config.json, model.safetensors and the tokenizer's files.\n\n"
                          "  --prompt TEXT     what to continue; several are done in turn, and share the cache of how they begin\n"
                          "  --tokens N        new tokens of a text (50)\n"
                          "  --texts N         texts for each prompt, computed together (1)\n"
                          "  --temperature T   0: always the likeliest token (0.8)\n"
                          "  --top-k K         draw from the K likeliest tokens; 0: from all (40)\n"
                          "  --top-p P         of those from the likeliest that together have probability P (0.95)\n"
                          "  --seed N          the same seed draws the same text (1)\n"
                          "  --dtype TYPE      f32 or bf16: of weights, activations and cache (f32)\n"
                          "  --threads N       0: every CPU (0)\n";

int64_t whole_number(std::string_view option, const std::string &value, int64_t least, int64_t most) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    const bool right = error == std::errc() && end == value.data() + value.size() && number >= least && number <= most;
    require(right, "{} is \"{}\"; it must be a whole number, {} to {}", option, value, least, most);
    return number;
}

namespace {

double real(std::string_view option, const std::string &value) {
    char *end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    require(!value.empty() && *end == '\0', "{} is \"{}\"; it must be a number", option, value);
    return number;
}

attune_type type_of(std::string_view option, const std::string &value) {
    require(value == "f32" || value == "bf16", "{} is \"{}\"; it must be f32 or bf16", option, value);
    return value == "f32" ? ATTUNE_F32 : ATTUNE_BF16;
}

void set(Arguments &arguments, std::string_view option, const std::string &value) {
    GenerationOptions &generation = arguments.generation;
    if (option == "--prompt")
        arguments.prompts.push_back(value);
    else if (option == "--tokens")
        generation.tokens = whole_number(option, value, 0, INT32_MAX);
    else if (option == "--texts")
        generation.texts = whole_number(option, value, 1, 1024);
    else if (option == "--temperature")
        generation.sampling.temperature = real(option, value);
    else if (option == "--top-k")
        generation.sampling.top_k = static_cast<int32_t>(whole_number(option, value, 0, INT32_MAX));
    else if (option == "--top-p")
        generation.sampling.top_p = real(option, value);
    else if (option == "--seed")
        generation.sampling.seed = static_cast<uint64_t>(whole_number(option, value, 0, INT64_MAX));
    else if (option == "--dtype")
        arguments.dtype = type_of(option, value);
    else if (option == "--threads")
        arguments.threads = static_cast<int32_t>(whole_number(option, value, 0, 1024));
    else
        fail("{} is no option; gpt --help lists them", option);
}

} // namespace

Arguments parse_arguments(int argc, const char *const *argv) {
    Arguments arguments;
    arguments.generation.sampling = {0.8, 40, 0.95, 1};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--help") {
            arguments.help = true;
        } else if (word.rfind("--", 0) == 0) {
            require(i + 1 < argc, "{} needs a value", word);
            set(arguments, word, argv[++i]);
        } else {
            require(arguments.folder.empty(), "\"{}\" is one folder too many; prompts come after --prompt", word);
            arguments.folder = word;
        }
    }
    require(arguments.help || !arguments.folder.empty(), "a model's folder is needed; gpt --help says more");
    return arguments;
}

} // namespace gpt
