// `attune run attention`: softmax(mask(bias(softcap(scale Q K^T))) / temperature) V on .npy files.
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

struct AttentionOptions {
    std::string q, k, v, output, lse, weights; // paths; empty: not given
    std::string mask = "none", mask_tensor, bias, key_lengths;
    std::string offset; // an integer or a path; empty: not given
    std::optional<float> scale;
    float softcap = 0, temperature = 1;
    RunOptions run;
};

/** One call: its tensors, and the memory and views they point to. */
class AttentionCall {
public:
    explicit AttentionCall(const AttentionOptions &options)
        : options_(options), in_(read_attention_inputs(options.q, options.k, options.v)),
          out_(make_array(ATTUNE_F32, in_.output_shape({in_.batch, in_.query_heads, in_.queries, in_.value_dim}), options.output)),
          args_(view(in_.q, 4), view(in_.k, 4), view(in_.v, 4), view(out_, 4)) {
        outputs_.add("-o", options.output, out_);
        set_numbers();
        add_optional_inputs();
        add_optional_outputs();
    }
    AttentionCall(const AttentionCall &) = delete; // args_ points into it
    AttentionCall &operator=(const AttentionCall &) = delete;

    void run() {
        const Result<AttentionPlan> plan =
            AttentionPlan::create({ATTUNE_F32, in_.head_dim, in_.value_dim, options_.mask, options_.run.schedule, nullptr});
        require_ok(plan.status());
        Call call(static_cast<int32_t>(options_.run.threads));
        require_ok(plan->run(args_, call));
        outputs_.commit();
    }

private:
    /** An optional tensor of the call: memory and the view of it that the arguments point to. */
    struct Tensor {
        Array array;
        TensorView tensor;

        const attune_tensor *set(Array from, int rank) {
            array = std::move(from);
            tensor = view(array, rank);
            return &tensor;
        }
    };

    void set_numbers() {
        args_.has_scale = options_.scale.has_value();
        args_.scale = options_.scale.value_or(0);
        args_.softcap = options_.softcap;
        args_.temperature = options_.temperature;
    }

    void add_optional_inputs() {
        if (!options_.mask_tensor.empty()) args_.boolean_mask = mask_tensor_.set(read_broadcast(options_.mask_tensor, ATTUNE_BOOL, in_), 4);
        if (!options_.bias.empty()) args_.bias = bias_.set(read_broadcast(options_.bias, ATTUNE_F32, in_), 4);
        if (!options_.key_lengths.empty()) args_.key_lengths = key_lengths_.set(read_key_lengths(options_.key_lengths, in_), 1);
        if (options_.offset.empty()) return;
        if (looks_like_integer(options_.offset)) {
            constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
            args_.has_offset = 1;
            args_.offset = parse_integer("--offset", options_.offset, low, high);
        } else {
            args_.offsets = offsets_.set(read_per_batch(options_.offset, in_), 1);
        }
    }

    void add_optional_outputs() {
        if (!options_.lse.empty()) {
            args_.lse = lse_.set(make_array(ATTUNE_F32, {in_.batch, in_.query_heads, in_.queries}, options_.lse), 3);
            lse_.array.shape = in_.output_shape({in_.batch, in_.query_heads, in_.queries, 1}), lse_.array.shape.pop_back();
            outputs_.add("--lse", options_.lse, lse_.array);
        }
        if (!options_.weights.empty()) {
            const Shape shape = in_.output_shape({in_.batch, in_.query_heads, in_.queries, in_.keys});
            args_.weights = weights_.set(make_array(ATTUNE_F32, shape, options_.weights), 4);
            outputs_.add("--weights", options_.weights, weights_.array);
        }
    }

    const AttentionOptions &options_;
    AttentionInputs in_;
    Array out_;
    Tensor mask_tensor_, bias_, key_lengths_, offsets_, lse_, weights_;
    AttentionArgs args_;
    OutputSet outputs_;
};

void add_files(CLI::App &app, AttentionOptions &options) {
    add_text(app, "Q", options.q, "Queries: <f4 .npy, [B,Hq,N,D], [H,N,D] or [N,D]")->required();
    add_text(app, "K", options.k, "Keys: [B,Hkv,M,D]; Hq is a multiple of Hkv")->required();
    add_text(app, "V", options.v, "Values: [B,Hkv,M,Dv]")->required();
    add_text(app, "-o,--output", options.output, "Output: [B,Hq,N,Dv], leading axes as Q has them")->required();
    add_text(app, "--lse", options.lse, "Also write the log-sum-exp of the scores: [B,Hq,N]");
    add_text(app, "--weights", options.weights, "Also write the attention weights: [B,Hq,N,M]");
}

void add_masks(CLI::App &app, AttentionOptions &options) {
    add_text(app, "--mask", options.mask, "none, causal, window(L,R), each with an alignment if wanted, and ! & | ( )");
    add_text(app, "--mask-tensor", options.mask_tensor, "|b1 .npy, true attends; aligned at the right to [B,Hq,N,M], each axis full or 1");
    add_text(app, "--bias", options.bias, "<f4 .npy added to the scores, -inf masks; shape as for --mask-tensor");
    add_text(app, "--key-lengths", options.key_lengths, "<i4 or <i8 .npy, one length from 0 to M for each batch item");
    add_text(app, "--offset", options.offset, "Key position of query 0: an integer, or an <i4 or <i8 .npy with one for each batch item");
}

} // namespace

void add_run_attention(CLI::App &run) {
    CLI::App *app = run.add_subcommand("attention", "softmax(mask(bias(softcap(scale Q K^T))) / temperature) V");
    const auto options = std::make_shared<AttentionOptions>();
    add_files(*app, *options);
    add_masks(*app, *options);
    app->add_option_function<std::string>(
        "--scale", [options](const std::string &text) { options->scale = parse_float("--scale", text, finite); },
        "Factor of the dot products; 1 / sqrt(D) by default");
    add_float(*app, "--softcap", options->softcap, positive_or_zero, "c > 0: scores become c tanh(s / c); 0: none");
    add_float(*app, "--temperature", options->temperature, positive, "Divides the scores as they enter softmax; 1 by default");
    add_run_options(*app, options->run);
    app->callback([options] { AttentionCall(*options).run(); });
}

} // namespace attune::tools
