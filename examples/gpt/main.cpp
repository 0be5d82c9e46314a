// Continues a text with a GPT-2- or Llama-style model: gpt models/llama-tiny --prompt "A kernel".
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "arguments.h"
#include "error.h"
#include "families.h"
#include "tokenizer.h"

namespace gpt {
namespace {

/** Generates a prompt's texts and prints them: one as it comes, several when they are done. Returns the number of tokens drawn. */
int64_t print_texts(Generator &generator, const Tokenizer &tokenizer, const std::string &text, const std::vector<int32_t> &prompt,
                    const GenerationOptions &options) {
    std::vector<std::string> texts(static_cast<size_t>(options.texts), text);
    int64_t drawn = 0;
    if (options.texts == 1) fmt::print("{}", text);
    generator.generate(prompt, options, [&](int64_t number, int32_t token) {
        ++drawn;
        if (options.texts > 1) {
            texts[static_cast<size_t>(number)] += tokenizer.piece(token);
            return;
        }
        fmt::print("{}", tokenizer.piece(token));
        std::fflush(stdout);
    });
    for (size_t i = 0; options.texts > 1 && i < texts.size(); ++i)
        fmt::print("{}[{}] {}", i > 0 ? "\n" : "", i + 1, texts[i]);
    fmt::print("\n");
    return drawn;
}

void run(const Arguments &arguments) {
    const Tokenizer tokenizer = Tokenizer::load(arguments.folder);
    const Checkpoint checkpoint(arguments.folder);
    Decoder decoder(load_network(checkpoint, arguments.dtype), arguments.threads);
    GenerationOptions options = arguments.generation;
    options.end_tokens = end_tokens(checkpoint);

    const std::vector<std::string> texts = arguments.prompts.empty() ? std::vector<std::string>{"A"} : arguments.prompts;
    std::vector<std::vector<int32_t>> prompts;
    size_t longest = 0;
    for (const std::string &text : texts)
        prompts.push_back(tokenizer.encode(text)), longest = std::max(longest, prompts.back().size());
    Generator generator(decoder, static_cast<int64_t>(longest) + options.tokens, options.texts);
    for (size_t i = 0; i < texts.size(); ++i) {
        const auto start = std::chrono::steady_clock::now();
        const int64_t drawn = print_texts(generator, tokenizer, texts[i], prompts[i], options);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        fmt::print(stderr, "({} prompt tokens, {} of them cached; {} new tokens; {:.0f} ms)\n", prompts[i].size(), generator.reused(),
                   drawn, seconds * 1e3);
    }
}

int fail_with(const std::string &sentence) {
    std::fputs(("gpt: " + sentence + "\n").c_str(), stderr);
    return 1;
}

/** A full disk behind stdout often shows only when the last bytes are flushed. */
int finish() {
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : fail_with("standard output could not be written in full");
}

} // namespace
} // namespace gpt

int main(int argc, char **argv) {
    try {
        const gpt::Arguments arguments = gpt::parse_arguments(argc, argv);
        if (arguments.help)
            std::fputs(gpt::usage, stdout);
        else
            gpt::run(arguments);
        return gpt::finish();
    } catch (const std::bad_alloc &) {
        return gpt::fail_with("out of memory");
    } catch (const std::exception &error) { // of a print that failed, too
        return gpt::fail_with(error.what());
    }
}
