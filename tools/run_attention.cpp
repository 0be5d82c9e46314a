// `attune run attention`: dropout(softmax(mask(biases(softcap(scale Q K^T))) / temperature)) V on .npy files.
#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "attention_files.h"
#include "attention_options.h"
#include "cache_files.h"
#include "commands.h"
#include "device.h"
#include "error.h"
#include "npy.h"
#include "options.h"
#include "output_set.h"

namespace attune::tools {
namespace {

/** One call: its tensors, and the memory and views they point to. */
class AttentionCall {
public:
    explicit AttentionCall(const AttentionOptions &options)
        : options_(options), in_(read_attention_inputs(options.q, options.k, options.v, options.dtype)),
          out_(make_array(in_.q.type, in_.output_shape({in_.batch, in_.query_heads, in_.queries, in_.value_dim}), options.output)),
          args_(view(in_.q, 4), view(in_.k, 4), view(in_.v, 4), view(out_, 4)) {
        outputs_.add("-o", options.output, out_);
        set_numbers();
        add_cache();
        add_optional_inputs();
        add_optional_outputs();
    }
    AttentionCall(const AttentionCall &) = delete; // args_ points into it
    AttentionCall &operator=(const AttentionCall &) = delete;

    void run() {
        const Result<AttentionPlan> plan = AttentionPlan::create(
            {in_.q.type, in_.head_dim, in_.value_dim, options_.mask, options_.score, options_.position, options_.run.schedule, nullptr,
             cache_ ? cache_->type() : in_.q.type, options_.run.device == "cuda" ? ATTUNE_CUDA : ATTUNE_CPU});
        require_ok(plan.status());
        Call call(static_cast<int32_t>(options_.run.threads));
        DeviceTensors tensors(options_.run.device);
        require_ok(plan->run(on_device(tensors), call));
        tensors.fetch();
        if (cache_) cache_->lengthen(new_tokens_);
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

    /** The arguments with the tensors that attention on a GPU takes; the library refuses the others by name. */
    AttentionArgs on_device(DeviceTensors &tensors) {
        AttentionArgs args = args_;
        if (tensors.device() == ATTUNE_CPU) return args;
        args.q = tensors.input(args.q), args.k = tensors.input(args.k), args.v = tensors.input(args.v);
        args.out = tensors.output(args.out);
        args.lse = tensors.optional_output(args.lse);
        args.bias = tensors.optional_input(args.bias, "--bias");
        args.sinks = tensors.optional_input(args.sinks, "--sinks");
        args.key_lengths = tensors.optional_input(args.key_lengths, "--key-lengths");
        args.offsets = tensors.optional_input(args.offsets, "--offset");
        if (cache_) args.cache = cache_->on_device(tensors, new_tokens_);
        return args;
    }

    void set_numbers() {
        args_.has_scale = options_.scale.has_value();
        args_.scale = options_.scale.value_or(0);
        args_.softcap = options_.softcap;
        args_.temperature = options_.temperature;
        args_.dropout = options_.dropout, args_.seed = options_.seed;
        args_.score_stage = options_.score_stage;
    }

    void add_cache() {
        if (options_.cache_ring && options_.cache.empty()) bad_argument("--cache-ring is given; it must go with --cache");
        if (options_.cache.empty()) return;
        cache_.emplace(options_.cache, options_.cache_ring, in_);
        cache_->add_outputs(outputs_);
        args_.cache = cache_->view();
        new_tokens_ = in_.keys, in_.keys = cache_->capacity();
    }

    void add_optional_inputs() {
        if (!options_.mask_tensor.empty()) args_.boolean_mask = add(read_broadcast(options_.mask_tensor, ATTUNE_BOOL, in_), 4);
        if (!options_.bias.empty()) args_.bias = add(read_broadcast(options_.bias, ATTUNE_F32, in_), 4);
        if (!options_.key_lengths.empty()) args_.key_lengths = add(read_key_lengths(options_.key_lengths, in_), 1);
        if (!options_.block_map.empty()) args_.block_map = add(read_array(options_.block_map, {ATTUNE_BOOL}, 2, 4), 4);
        args_.documents = add_integers(options_.documents, 1, 2, 2);
        args_.query_documents = add_integers(options_.query_documents, 1, 2, 2);
        args_.document_starts = add_integers(options_.document_starts, 1, 1, 1);
        args_.positions = add_integers(options_.positions, 1, 3, 1);
        args_.key_positions = add_integers(options_.key_positions, 1, 3, 1);
        if (!options_.t5_table.empty()) args_.t5_table = add(read_array(options_.t5_table, {ATTUNE_F32}, 2, 2), 2);
        if (!options_.sinks.empty()) args_.sinks = add(read_array(options_.sinks, {ATTUNE_F32}, 1, 1), 1);
        if (!options_.position_table.empty()) args_.position_table = add(read_array(options_.position_table, {ATTUNE_F32}, 2, 2), 2);
        if (!options_.offset.empty()) add_offset();
    }

    void add_offset() {
        if (looks_like_number(options_.offset)) {
            constexpr int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();
            args_.has_offset = 1;
            args_.offset = parse_integer("--offset", options_.offset, low, high);
        } else {
            args_.offsets = add(read_per_batch(options_.offset, in_), 1);
        }
    }

    /** A file of integers, or nullptr where none is given; as of rank `least` at least in the arguments. */
    const attune_tensor *add_integers(const std::string &file, int min_rank, int max_rank, int least) {
        if (file.empty()) return nullptr;
        Array array = read_array(file, {ATTUNE_I32, ATTUNE_I64}, min_rank, max_rank);
        const int rank = static_cast<int>(array.shape.size());
        return add(std::move(array), std::max(rank, least));
    }

    const attune_tensor *add(Array array, int rank) { return tensors_.emplace_back().set(std::move(array), rank); }

    /** An output of the scores' shape. */
    const attune_tensor *add_output(const char *option, const std::string &path, Shape full) {
        if (path.empty()) return nullptr;
        const attune_tensor *tensor = add(make_array(ATTUNE_F32, in_.output_shape(std::move(full)), path), 4);
        outputs_.add(option, path, tensors_.back().array);
        return tensor;
    }

    void add_optional_outputs() {
        const Shape full = {in_.batch, in_.query_heads, in_.queries, in_.keys};
        args_.weights = add_output("--weights", options_.weights, full);
        args_.scores = add_output("--scores", options_.scores, full);
        if (options_.lse.empty()) return;
        args_.lse = add(make_array(ATTUNE_F32, {in_.batch, in_.query_heads, in_.queries}, options_.lse), 3);
        Array &lse = tensors_.back().array;
        lse.shape = in_.output_shape({in_.batch, in_.query_heads, in_.queries, 1}), lse.shape.pop_back();
        outputs_.add("--lse", options_.lse, lse);
    }

    const AttentionOptions &options_;
    AttentionInputs in_;
    Array out_;
    std::deque<Tensor> tensors_; // which stay where they are
    AttentionArgs args_;
    OutputSet outputs_;
    std::optional<CacheFiles> cache_;
    int64_t new_tokens_ = 0;
};

} // namespace

void add_run_attention(CLI::App &run) {
    CLI::App *app = run.add_subcommand("attention", "dropout(softmax(mask(biases(softcap(scale Q K^T))) / temperature)) V");
    const auto options = std::make_shared<AttentionOptions>();
    add_attention_options(*app, *options);
    app->callback([options] { AttentionCall(*options).run(); });
}

} // namespace attune::tools
