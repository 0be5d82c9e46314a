// `attune run mha`: multi-head attention on .npy files.
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "attention_files.h"
#include "commands.h"
#include "error.h"
#include "npy.h"
#include "options.h"
#include "output_set.h"

namespace attune::tools {
namespace {

constexpr std::initializer_list<attune_type> floating = {ATTUNE_F32, ATTUNE_BF16};

struct MhaCommand {
    std::string query, key, value, output, weights; // paths; empty: not given
    std::string weight[4], bias[4];                 // of queries, keys, values and the output
    std::string mask = "none", score = "none", position = "none";
    std::string mask_tensor, key_padding, polarity, key_lengths, bias_tensor;
    int64_t heads = 1, kv_heads = 0, context_length = 0;
    std::optional<float> scale;
    std::optional<int64_t> offset;
    float dropout = 0;
    uint64_t seed = 0;
    RunOptions run;
};

/** One call: the memory of its files, and the views that the layer and the arguments point to. */
class MhaCall {
public:
    explicit MhaCall(const MhaCommand &command)
        : command_(command), query_(read_array(command.query, floating, 2, 3)), layer_(make_layer()),
          out_(make_array(query_.type, output_shape(), command.output)), args_(view(query_), view(out_)) {
        outputs_.add("-o", command.output, out_);
        key_ = read_optional(command.key, floating), value_ = read_optional(command.value, floating);
        args_.key = key_.view(), args_.value = value_.view();
        set_masks();
        set_numbers();
        if (!command.weights.empty()) add_weights();
    }
    MhaCall(const MhaCall &) = delete; // args_ points into it
    MhaCall &operator=(const MhaCall &) = delete;

    void run() {
        Call call(static_cast<int32_t>(command_.run.threads));
        require_ok(layer_.run(args_, &call));
        outputs_.commit();
    }

private:
    MultiHeadAttention make_layer() {
        OptionalArray weights[4], biases[4];
        for (int i = 0; i < 4; ++i)
            weights[i] = read_optional(command_.weight[i], floating), biases[i] = read_optional(command_.bias[i], floating);
        MultiHeadAttentionDesc desc;
        desc.dtype = query_.type, desc.heads = command_.heads, desc.kv_heads = command_.kv_heads;
        desc.query_weight = weights[0].tensor, desc.key_weight = weights[1].tensor, desc.value_weight = weights[2].tensor;
        desc.query_bias = biases[0].view(), desc.key_bias = biases[1].view(), desc.value_bias = biases[2].view();
        desc.output_weight = weights[3].view(), desc.output_bias = biases[3].view();
        desc.mask = command_.mask, desc.score = command_.score, desc.position = command_.position;
        desc.context_length = command_.context_length, desc.schedule = command_.run.schedule;
        Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
        require_ok(layer.status());
        return std::move(layer).value();
    }

    Shape output_shape() const {
        Shape shape = query_.shape;
        shape.back() = layer_.out();
        return shape;
    }

    void set_masks() {
        const bool masked = !command_.mask_tensor.empty() || !command_.key_padding.empty();
        if (masked == command_.polarity.empty())
            bad_argument("--polarity is {}; it must go with --mask-tensor or --key-padding, and they with it",
                         masked ? "missing" : "alone");
        mask_ = read_optional(command_.mask_tensor, {ATTUNE_BOOL}), padding_ = read_optional(command_.key_padding, {ATTUNE_BOOL});
        args_.mask = mask_.view(), args_.key_padding = padding_.view();
        args_.polarity = command_.polarity == "true_masks" ? ATTUNE_TRUE_MASKS : ATTUNE_TRUE_ATTENDS;
        lengths_ = read_optional(command_.key_lengths, {ATTUNE_I32, ATTUNE_I64}), bias_ = read_optional(command_.bias_tensor, {ATTUNE_F32});
        args_.attention.key_lengths = lengths_.view(), args_.attention.bias = bias_.view();
    }

    void set_numbers() {
        args_.attention.has_scale = command_.scale.has_value(), args_.attention.scale = command_.scale.value_or(0);
        args_.attention.has_offset = command_.offset.has_value(), args_.attention.offset = command_.offset.value_or(0);
        args_.attention.dropout = command_.dropout, args_.attention.seed = command_.seed;
    }

    void add_weights() {
        const Shape &keys = key_.view() ? key_.array.shape : query_.shape;
        const std::size_t rank = query_.shape.size();
        if (keys.size() != rank) bad_argument("{} has rank {}; it must be {}, as {}", command_.key, keys.size(), rank, command_.query);
        const Shape shape = {rank == 3 ? query_.shape[0] : 1, command_.heads, query_.shape[rank - 2], keys[rank - 2]};
        weights_ = make_array(ATTUNE_F32, shape, command_.weights);
        outputs_.add("--weights", command_.weights, weights_);
        weights_view_ = view(weights_);
        args_.attention.weights = &weights_view_;
    }

    const MhaCommand &command_;
    Array query_;
    MultiHeadAttention layer_;
    Array out_, weights_;
    OptionalArray key_, value_, mask_, padding_, lengths_, bias_;
    TensorView weights_view_;
    MultiHeadAttentionArgs args_;
    OutputSet outputs_;
};

std::string parse_polarity(const std::string &text) {
    if (text != "true_attends" && text != "true_masks") bad_argument("--polarity is {}; it must be true_attends or true_masks", text);
    return text;
}

void add_layer(CLI::App &app, MhaCommand &command) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    const char *const names[4] = {"q", "k", "v", "o"};
    const char *const shapes[4] = {"[heads D, d_in]", "[kv_heads D, kdim]", "[kv_heads Dv, vdim]",
                                   "[d_out, heads Dv]; without it the heads side by side are the output"};
    for (int i = 0; i < 4; ++i) {
        CLI::Option *weight = add_text(app, std::string("--w-") + names[i], command.weight[i], std::string("Weights: ") + shapes[i]);
        if (i < 3) weight->required();
        add_text(app, std::string("--b-") + names[i], command.bias[i], "Bias of those");
    }
    add_integer(app, "--heads", command.heads, 1, most, "Heads of queries; 1 by default");
    add_integer(app, "--kv-heads", command.kv_heads, 0, most, "Heads of keys and values, a divisor of those; 0, the default: as many");
    add_integer(app, "--context-length", command.context_length, 0, most, "The most tokens there may be; 0, the default: no limit");
}

void add_masks(CLI::App &app, MhaCommand &command) {
    add_text(app, "--mask", command.mask, "As for attention: causal, window(L,R), ...");
    add_text(app, "--mask-tensor", command.mask_tensor, "|b1 .npy, [N,M], or rank 4 with each axis full or 1 of [B,heads,N,M]");
    add_text(app, "--key-padding", command.key_padding, "|b1 .npy [B,M]");
    app.add_option_function<std::string>(
        "--polarity", [&command](const std::string &text) { command.polarity = parse_polarity(text); },
        "What true says in both: true_attends or true_masks (PyTorch's)");
    add_text(app, "--key-lengths", command.key_lengths, "<i4 or <i8 .npy [B], from 0 to M");
    add_text(app, "--bias", command.bias_tensor, "<f4 .npy of rank 4, added to the scores, each axis full or 1 of [B,heads,N,M]");
}

void add_numbers(CLI::App &app, MhaCommand &command) {
    constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
    add_text(app, "--score", command.score, "As for attention: softcap(C), alibi");
    add_text(app, "--position", command.position, "As for attention: rotary(half), ...");
    app.add_option_function<std::string>(
        "--offset", [&command](const std::string &text) { command.offset = parse_integer("--offset", text, low, high); },
        "Key position of query 0");
    app.add_option_function<std::string>(
        "--scale", [&command](const std::string &text) { command.scale = parse_float("--scale", text, finite); },
        "Factor of the dot products; 1 / sqrt(D) by default");
    add_float(app, "--dropout", command.dropout, below_one,
              "Drops each weight with this probability and divides the others by what is left");
    app.add_option_function<std::string>(
        "--seed", [&command](const std::string &text) { command.seed = parse_unsigned("--seed", text); },
        "Of dropout: an integer from 0 to 2^64 - 1; 0 by default");
}

} // namespace

void add_run_mha(CLI::App &run) {
    CLI::App *app = run.add_subcommand("mha", "Multi-head attention: projections of queries, keys and values, attention by heads, output");
    const auto command = std::make_shared<MhaCommand>();
    add_text(*app, "X", command->query, "Queries, and keys and values without --kv: <f4, or <u2 (bf16), [B,N,d_in] or [N,d_in]")
        ->required();
    add_text(*app, "--kv", command->key, "Keys, and values without --value: [B,M,kdim]");
    add_text(*app, "--value", command->value, "Values: [B,M,vdim]")->needs("--kv");
    add_text(*app, "-o,--output", command->output, "Output: [B,N,d_out] of X's type")->required();
    add_text(*app, "--weights", command->weights, "Also write the attention weights: [B,heads,N,M]");
    add_layer(*app, *command);
    add_masks(*app, *command);
    add_numbers(*app, *command);
    add_run_options(*app, command->run);
    app->callback([command] { MhaCall(*command).run(); });
}

} // namespace attune::tools
