// Times a Llama-style decoder of random weights, beside what the machine can do at most: gpt_bench [HIDDEN LAYERS INNER HEADS KV_HEADS
// VOCABULARY [bf16|f32 [THREADS [json]]]]. bench/compare_decoder.py reads its lines of JSON.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "arguments.h"
#include "bench/machine.h"
#include "bfloat16.h"
#include "decoder.h"
#include "error.h"
#include "layers.h"

namespace gpt {
namespace {

/** Uniform numbers whose products keep the size of what they multiply. */
class RandomWeights {
public:
    explicit RandomWeights(attune_type dtype) : dtype_(dtype) {}

    Matrix matrix(int64_t rows, int64_t columns) {
        Matrix matrix = {rows, columns, {}, {}, false};
        const float size = std::sqrt(3.0f / static_cast<float>(columns));
        matrix.values.resize(static_cast<size_t>(rows * columns));
        for (float &value : matrix.values)
            value = size * (static_cast<float>(bits_() & 0xffff) / 32768.0f - 1);
        return matrix;
    }
    attune::Linear linear(int64_t out, int64_t in) { return make_linear(dtype_, matrix(out, in)); }
    attune::Linear gated(int64_t out, int64_t in) {
        const Matrix gate = matrix(out, in);
        return make_linear(dtype_, matrix(out, in), ATTUNE_SILU, &gate);
    }

private:
    attune_type dtype_;
    std::minstd_rand bits_{1};
};

Network random_llama(DecoderShape shape, int64_t layers, int64_t inner) {
    RandomWeights random(shape.dtype);
    const int64_t rows = shape.heads * shape.head_dim, kv_rows = shape.kv_heads * shape.head_dim;
    const Norm norm = {std::vector<float>(static_cast<size_t>(shape.width), 1), {}, 1e-5f};
    std::vector<Block> blocks;
    for (int64_t i = 0; i < layers; ++i)
        blocks.push_back({norm, random.linear(rows + 2 * kv_rows, shape.width), random.linear(shape.width, rows), norm,
                          random.gated(inner, shape.width), random.linear(shape.width, inner)});
    Buffer tokens(shape.dtype);
    const attune::TensorView table = tokens.view({shape.vocabulary, shape.width});
    std::memset(table.data, 0, static_cast<size_t>(shape.vocabulary * shape.width) * attune_type_size(shape.dtype));
    const auto *one = shape.dtype == ATTUNE_F32 ? "\0\0\x80\x3f" : "\x80\x3f";
    for (int64_t token = 0; token < shape.vocabulary; ++token) // rows that differ: a one in one place
        std::memcpy(part_of(table, token * shape.width + token % shape.width, {1}, {1}).data, one, attune_type_size(shape.dtype));
    return {shape, {std::move(tokens), Buffer(), false, std::move(blocks), norm, random.linear(shape.vocabulary, shape.width)}};
}

/** The shortest of `repeats` runs, in seconds, or `best` if that is less. */
double shortest(int repeats, const std::function<void()> &run, double best = std::numeric_limits<double>::infinity()) {
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

double element_bytes(const DecoderShape &shape) { return static_cast<double>(attune_type_size(shape.dtype)); }

/** Weights that one token takes part in a product with. */
double weights_of(const DecoderShape &shape, int64_t layers, int64_t inner) {
    const int64_t attention = shape.width * shape.head_dim * (2 * shape.heads + 2 * shape.kv_heads), mlp = 3 * shape.width * inner;
    return static_cast<double>(layers * (attention + mlp) + shape.vocabulary * shape.width);
}

/** Keys and values of `tokens` tokens. */
double cached_numbers(const DecoderShape &shape, int64_t layers, int64_t tokens) {
    return static_cast<double>(2 * layers * shape.kv_heads * shape.head_dim * tokens);
}

/** A line of JSON: the case, what is known of it and its figures. */
void print_json(const std::string &name, const DecoderShape &shape, int32_t threads, double seconds, int64_t tokens,
                const nlohmann::ordered_json &figures) {
    nlohmann::ordered_json line = {{"case", name},
                                   {"dtype", attune_type_name(shape.dtype)},
                                   {"threads", threads},
                                   {"ms", seconds * 1e3},
                                   {"tokens_per_s", static_cast<double>(tokens) / seconds}};
    line.update(figures);
    fmt::print("{}\n", line.dump());
}

void run(int argc, char **argv) {
    const auto number = [&](int place, int64_t otherwise) {
        return argc > place ? whole_number(fmt::format("argument {}", place), argv[place], 1, 1 << 24) : otherwise;
    };
    const int64_t layers = number(2, 16), inner = number(3, 8192), prompt = 1024;
    DecoderShape shape;
    shape.width = number(1, 2048), shape.heads = number(4, 32), shape.kv_heads = number(5, 8), shape.vocabulary = number(6, 32000);
    shape.dtype = argc > 7 && std::string(argv[7]) == "f32" ? ATTUNE_F32 : ATTUNE_BF16;
    require(shape.heads > 0 && shape.width % shape.heads == 0, "the width is {}; it must be a multiple of the {} heads", shape.width,
            shape.heads);
    shape.head_dim = shape.width / shape.heads, shape.longest = 2 * prompt, shape.position = "rotary(half, base=500000)";
    const auto threads = static_cast<int32_t>(std::min<int64_t>(number(8, 1), 1024));
    const bool json = argc > 9 && std::string(argv[9]) == "json";
    attune::bench::FmaPeak peak(threads, shape.dtype);
    const double weights = weights_of(shape, layers, inner);
    const auto token_bytes = static_cast<int64_t>(weights * element_bytes(shape));
    attune::bench::Bandwidth reading = attune::bench::read_bandwidth(threads, token_bytes);
    Decoder decoder(random_llama(shape, layers, inner), threads);
    attune::KvCache cache = decoder.make_cache(shape.longest, 2 * shape.longest / Decoder::page_tokens);
    require(cache.add().status());

    std::vector<int32_t> tokens(static_cast<size_t>(prompt));
    for (size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<int32_t>(i * 7919 % static_cast<size_t>(shape.vocabulary));
    for (int64_t length : {int64_t(16), prompt}) {
        require(cache.truncate(0, 0));
        decoder.run(cache, {{0}, {tokens.begin(), tokens.begin() + length}});
        const auto one_token = [&] {
            require(cache.truncate(0, length));
            decoder.run(cache, {{0}, {tokens[0]}});
        };
        double token = std::numeric_limits<double>::infinity();
        for (int turn = 0; turn < 10; ++turn) { // with the limits in turn: a shared machine's memory changes within a second
            token = shortest(3, one_token, token);
            peak.sample(), reading.sample();
        }
        const double gbps = (weights + cached_numbers(shape, layers, length + 1)) * element_bytes(shape) / token * 1e-9;
        if (json)
            print_json(fmt::format("decode_{}", length), shape, threads, token, 1, {{"gbps", gbps}, {"read_gbps", reading.gbps()}});
        else
            fmt::print("decode after {:4} tokens: {:7.2f} ms a token, {:6.1f} tokens/s, weights, keys and values read at {:5.1f} GB/s, "
                       "{:.0f} % of the "
                       "read bandwidth\n",
                       length, token * 1e3, 1 / token, gbps, 100 * gbps / reading.gbps());
    }
    const double seconds = shortest(2, [&] {
        require(cache.truncate(0, 0));
        decoder.run(cache, {{0}, tokens});
        peak.sample();
    });
    const double parameters = weights - static_cast<double>(shape.vocabulary * shape.width); // the head sees the last token alone
    const double gflops = 2 * parameters * static_cast<double>(prompt) / seconds * 1e-9;
    if (json)
        print_json(fmt::format("prefill_{}", prompt), shape, threads, seconds, prompt,
                   {{"gflops", gflops}, {"peak_gflops", peak.gflops()}});
    else
        fmt::print("prefill of {} tokens: {:.1f} ms, {:.1f} GFLOP/s in matrix products, {:.0f} % of the FMA peak\n", prompt, seconds * 1e3,
                   gflops, 100 * gflops / peak.gflops());
}

} // namespace
} // namespace gpt

int main(int argc, char **argv) {
    try {
        gpt::run(argc, argv);
        return 0;
    } catch (const std::exception &error) {
        fmt::print(stderr, "gpt_bench: {}\n", error.what());
        return 1;
    }
}
