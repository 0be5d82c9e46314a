// What the generators of attention for CUDA share: the kernel's arguments, and what attune_add_kernel compiles into it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "dsl/axes.h"
#include "dsl/document_ranges.h"
#include "dsl/mask.h"
#include "dsl/score.h"
#include "generators/bind.h"
#include "generators/mask_from_text.h"
#include "generators/named_parameters.h"
#include "generators/score_from_text.h"
#include "generators/text_parameters.h"

namespace attune::generators {

/** The arguments of every attention kernel for CUDA but its outputs: see docs/cuda.md. Elements of q, k and v are of type `Element`:
 * channels or words of them. Buffers are (element, token, head, batch). What isn't given is bound to some memory of the device, with
 * extents of 1, and strides of 0.
 *
 * With `own`, a kernel of attune_add_kernel, more arguments follow the inputs: what a mask or a score that is compiled in may name. All of
 * it may be read at any index: outside of what there is, the nearest is. */
template <typename T, typename Element> class CudaAttentionGenerator : public Halide::Generator<T> {
public:
    template <typename Type, int rank> using Buffer = Halide::GeneratorInput<Halide::Buffer<Type, rank>>;
    using Integer = Halide::GeneratorInput<int32_t>;

    Halide::GeneratorParam<std::string> schedule_name{"schedule", ""};
    Halide::GeneratorParam<int> head_dim{"head_dim", 0}; // D and Dv
    Halide::GeneratorParam<bool> own{"own", false};      // of attune_add_kernel
    Halide::GeneratorParam<std::string> mask_text{"mask", "none"}, score_text{"score", "none"};
    Halide::GeneratorParam<int> param_count{"param_count", 0};             // of a mask in C++; names in a text are counted
    Buffer<Element, 4> query{"query"}, key{"key"}, value{"value"};         // (element, token, head, batch or page)
    Buffer<int32_t, 1> given_lengths{"lengths"}, given_offsets{"offsets"}; // (batch)
    Buffer<float, 1> sinks{"sinks"};                                       // (head)
    Buffer<float, 4> bias{"bias"};                                         // (key, query, head, batch)
    Buffer<int32_t, 2> pages{"pages"};                                     // (page of the item, batch): page of k and v
    Integer use_lengths{"use_lengths"}, use_offsets{"use_offsets"}, use_sinks{"use_sinks"}, use_bias{"use_bias"};
    Integer use_alibi{"use_alibi"}, use_pages{"use_pages"};
    Integer offset{"offset"}, left{"left"}, right{"right"}; // query i attends to keys i + offset - left ... i + offset + right
    Halide::GeneratorInput<float> scale{"scale"}, softcap{"softcap"}, temperature{"temperature"};
    Integer keys{"keys"}; // M

    // What a mask or score of one's own may read, as on the CPU: key position of query 0 and key length (batch), the named parameters
    // (index), documents (token, batch) and a boolean tensor (key, query, head, batch).
    Halide::Func offsets{"offset_of_item"}, lengths{"length_of_item"}, params{"parameter"};
    Halide::Func query_documents{"query_document"}, key_documents{"key_document"}, attend{"attends_by_tensor"};
    Halide::Func document_ranges{"document_range"}; // as dsl::documents takes them: (which, first query of a tile, batch)

    /** The mask compiled into the kernel, beside the one given at run time: that of the parameter `mask`, unless overridden. */
    std::optional<dsl::Mask> compiled_mask() {
        refuse_terms();
        return mask_from_text(mask_text, query.dim(1).extent(), keys,
                              {offsets, params, lengths, query_documents, key_documents, {}, attend, document_ranges});
    }
    /** A score compiled in, after soft cap and biases; none unless overridden. */
    std::optional<dsl::ScoreFunction> compiled_score() { return std::nullopt; }
    /** Positions have to be applied beforehand. */
    std::optional<dsl::Positioning> compiled_positioning() { return std::nullopt; }

protected:
    // With N and M of at most 2^28 an offset beyond this puts all keys on one side of all queries, and sums fit into 32 bits.
    static constexpr int far = 1 << 29;

    Integer *keys_per_chunk = nullptr;

    /** The inputs that not every kernel has, in their order. */
    void add_inputs(bool split) {
        if (split) keys_per_chunk = this->template add_input<int32_t>("keys_per_chunk");
        if (!own) return;
        mask_offset = this->template add_input<int32_t>("mask_offset");
        given_query_documents = this->template add_input<Halide::Buffer<int32_t, 2>>("query_documents");
        given_key_documents = this->template add_input<Halide::Buffer<int32_t, 2>>("key_documents");
        given_attend = this->template add_input<Halide::Buffer<uint8_t, 4>>("attend");
        given_ranges = this->template add_input<Halide::Buffer<int32_t, 3>>("document_ranges");
        const size_t named = mask_parameter(mask_text).parameters.size(), count = named > 0 ? named : size_t(param_count);
        const size_t most = text::most_cuda_parameters;
        if (count > most) refuse("the mask has " + std::to_string(count) + " names; on device cuda it may have " + std::to_string(most));
        for (size_t i = 0; i < count; i++)
            given_params.push_back(this->template add_input<int32_t>("param_" + std::to_string(i)));
    }

    /** Whether key_lengths hold beside the mask: 1, or 2 where a compiled-in mask alone reads them. */
    Halide::Expr lengths_hold() const { return own ? use_lengths == 1 : use_lengths != 0; }

    /** What is compiled in. To be called once, in generate(). A tile has `rows` rows. */
    struct Compiled {
        std::optional<dsl::Mask> mask;
        std::optional<dsl::ScoreFunction> score;
        Halide::Expr softcap, use_alibi;
    };
    Compiled compiled(int rows) {
        Compiled made{{}, {}, softcap, use_alibi};
        if (!own) return made;
        T &self = static_cast<T &>(*this);
        if (self.compiled_positioning())
            refuse("a position is compiled in; on device cuda attune_rotary applies one to q and k beforehand");
        define_data(), define_ranges(rows);
        made.mask = self.compiled_mask(), made.score = self.compiled_score();
        check_parameters(made.mask, made.score, params.name(), int(given_params.size()));
        if (made.mask && keys_per_chunk) check_heads(*made.mask);
        for (const text::ScoreTerm &term : score_parameter(score_text).terms) {
            if (term.kind == text::ScoreKind::t5) refuse("score \"" + score_text.value() + "\": t5 can't be compiled in on device cuda");
            if (term.kind == text::ScoreKind::softcap) made.softcap = static_cast<float>(term.cap);
            if (term.kind == text::ScoreKind::alibi) made.use_alibi = 1;
        }
        return made;
    }

    void bind_inputs() {
        const Halide::Expr any;
        for (auto *vector : {&given_lengths, &given_offsets})
            vector->dim(0).set_min(0).set_stride(any);
        sinks.dim(0).set_min(0).set_stride(any);
        from_0(bias), from_0(pages);
        if (!own) return;
        from_0(*given_query_documents), from_0(*given_key_documents), from_0(*given_attend);
        // Its parts lie together: where one is, the others are found in no instruction.
        for (int axis : {0, 1, 2})
            given_ranges->dim(axis).set_min(0);
    }

private:
    Integer *mask_offset = nullptr;
    Buffer<int32_t, 2> *given_query_documents = nullptr, *given_key_documents = nullptr;
    Buffer<uint8_t, 4> *given_attend = nullptr;
    Buffer<int32_t, 3> *given_ranges = nullptr;
    std::vector<Integer *> given_params;

    [[noreturn]] static void refuse(const std::string &what) { throw Halide::CompileError(("attune: " + what).c_str()); }

    void refuse_terms() const {
        const std::string text = mask_text.value();
        const text::Mask parsed = mask_parameter(text);
        if (text::names_term(parsed.root, text::MaskKind::blocks))
            refuse("mask \"" + text + "\": blocks can't be compiled in on device cuda");
    }

    /** Rows of a tile are of several heads then, and one answer is to hold for all of them. */
    void check_heads(const dsl::Mask &mask) const {
        const Halide::Var each("attune.head");
        const Halide::Expr allowed = mask.allows({dsl::axes::batch, each, dsl::axes::token, dsl::axes::key});
        if (Halide::Internal::expr_uses_var(allowed, each.name()))
            refuse("the mask isn't the same for all heads; schedule " + schedule_name.value() + " takes none that isn't");
    }

    static Halide::Expr clamped_inside(const Halide::Expr &index, const Halide::Internal::Dimension &axis) {
        return clamp(index, 0, axis.extent() - 1);
    }

    template <typename Input> static void from_0(Input &buffer) {
        buffer.dim(0).set_stride(Halide::Expr());
        for (int axis = 0; axis < buffer.dimensions(); axis++)
            buffer.dim(axis).set_min(0);
    }

    void define_data() {
        using namespace dsl::axes;
        using Halide::select;
        auto &o = given_offsets, &l = given_lengths;
        auto &q = *given_query_documents, &k = *given_key_documents;
        auto &a = *given_attend;
        const Halide::Var index("index");
        offsets(batch) = clamp(select(use_offsets != 0, o(clamped_inside(batch, o.dim(0))), *mask_offset), -far, far);
        lengths(batch) = clamp(select(use_lengths != 0, l(clamped_inside(batch, l.dim(0))), keys), 0, keys);
        query_documents(token, batch) = q(clamped_inside(token, q.dim(0)), clamped_inside(batch, q.dim(1)));
        key_documents(dsl::axes::key, batch) = k(clamped_inside(dsl::axes::key, k.dim(0)), clamped_inside(batch, k.dim(1)));
        attend(dsl::axes::key, token, head, batch) = a(clamped_inside(dsl::axes::key, a.dim(0)), clamped_inside(token, a.dim(1)),
                                                       clamped_inside(head, a.dim(2)), clamped_inside(batch, a.dim(3)));
        Halide::Expr nth = 0;
        for (size_t i = 0; i < given_params.size(); i++)
            nth = select(index == int(i), *given_params[i], nth);
        params(index) = nth;
    }

    /** A tile's queries are those of one range, or of several. */
    void define_ranges(int rows) {
        using namespace dsl::axes;
        using dsl::DocumentRange;
        auto &r = *given_ranges;
        constexpr int of_range = text::queries_a_document_range;
        if (rows % of_range != 0 && of_range % rows != 0)
            refuse("a tile has " + std::to_string(rows) + " queries; with ranges of documents it must have a divisor or a multiple of " +
                   std::to_string(of_range));
        const auto range = [&](int after) {
            return r(which, clamped_inside(token / of_range + after, r.dim(1)), clamped_inside(batch, r.dim(2)));
        };
        const Halide::Expr is_least = which == int(DocumentRange::first) || which == int(DocumentRange::last_full);
        Halide::Expr joint = range(0);
        for (int after = 1; after * of_range < rows; after++)
            joint = select(is_least, min(joint, range(after)), max(joint, range(after)));
        document_ranges(which, token, batch) = joint;
    }
};

} // namespace attune::generators
