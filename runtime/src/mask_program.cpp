#include "mask_program.h"

#include <algorithm>

namespace attune::runtime {

namespace {

using text::Alignment;
using text::MaskKind;
using text::MaskNode;

__extension__ using int128 = __int128;       // sums of any two int64
constexpr int64_t beyond = int64_t{1} << 33; // farther than any query and key are apart
// A set waits on the stack for each operator that is open: at most one a bracket, and the two being joined.
constexpr size_t max_open_sets = 2 * text::max_mask_depth + 8;

bool is_term(const MaskNode &node) { return node.operands.empty() && node.kind != MaskKind::none; }

/** Writes the steps of a tree, and works out how much room they need. */
class Compiler {
public:
    MaskProgram run(const MaskNode *first, const MaskNode *second) {
        MaskNode all;
        all.kind = MaskKind::conjunction;
        for (const MaskNode *mask : {first, second})
            if (mask && mask->kind != MaskKind::none) all.operands.push_back(*mask);
        write(all);
        program_.most_intervals = sizes_.back();
        return std::move(program_);
    }

private:
    void write(const MaskNode &node) {
        switch (node.kind) {
        case MaskKind::conjunction:
            return write_conjunction(node);
        case MaskKind::disjunction:
            return write_disjunction(node);
        case MaskKind::negation:
            write(node.operands[0]);
            return push(StepKind::complement, 1);
        default:
            return write_band({&node});
        }
    }

    /** Terms that all must hold make one band; what is left is intersected with it. */
    void write_conjunction(const MaskNode &node) {
        std::vector<const MaskNode *> terms, others;
        collect(node, terms, others);
        size_t written = 0;
        if (!terms.empty() || others.empty()) write_band(terms), ++written;
        for (const MaskNode *other : others) {
            write(*other);
            if (++written > 1) push(StepKind::intersect, 2);
        }
    }

    void collect(const MaskNode &node, std::vector<const MaskNode *> &terms, std::vector<const MaskNode *> &others) {
        for (const MaskNode &operand : node.operands) {
            if (operand.kind == MaskKind::conjunction) {
                collect(operand, terms, others);
            } else {
                (is_term(operand) ? terms : others).push_back(&operand);
            }
        }
    }

    void write_disjunction(const MaskNode &node) {
        for (size_t i = 0; i < node.operands.size(); ++i) {
            write(node.operands[i]);
            if (i > 0) push(StepKind::unite, 2);
        }
    }

    void write_band(const std::vector<const MaskNode *> &terms) {
        const auto first = static_cast<uint32_t>(program_.terms.size());
        for (const MaskNode *node : terms)
            add_term(*node);
        ++program_.band_count;
        push(StepKind::band, 0);
        program_.steps.back().first_term = first;
        program_.steps.back().term_count = static_cast<uint32_t>(terms.size());
    }

    void add_term(const MaskNode &node) {
        MaskTerm term = {node.kind, node.alignment, {}};
        std::copy(node.numbers.begin(), node.numbers.end(), term.numbers);
        program_.terms.push_back(term);
        if (node.kind == MaskKind::prefix) return;
        program_.depends_on_row = true;
        program_.depends_on_offset = program_.depends_on_offset || node.alignment == Alignment::unnamed;
    }

    /** Adds a step that replaces `consumed` sets, and follows the sizes of the sets on the stack. */
    void push(StepKind kind, size_t consumed) {
        program_.steps.push_back({kind, 0, 0});
        size_t size = kind == StepKind::band || kind == StepKind::complement ? 1 : 0;
        for (size_t i = 0; i < consumed; ++i)
            size += sizes_[sizes_.size() - 1 - i];
        if (kind == StepKind::intersect) --size;
        size_t waiting = size; // the result is written above its operands before it takes their place
        for (size_t each : sizes_)
            waiting += each;
        program_.stack_size = std::max(program_.stack_size, waiting);
        sizes_.resize(sizes_.size() - consumed);
        sizes_.push_back(size);
    }

    MaskProgram program_;
    std::vector<size_t> sizes_; // the most intervals of each set on the stack
};

/** Sums that can't be held are beyond any key either way. */
int64_t clamped(int128 shift) { return static_cast<int64_t>(std::clamp<int128>(shift, -beyond, beyond)); }

int64_t value_of(const text::Number &number, const MaskNumbers &numbers) {
    return number.is_parameter() ? numbers.params[number.parameter] : number.value;
}

int64_t offset_of(Alignment alignment, const MaskNumbers &numbers) {
    switch (alignment) {
    case Alignment::top_left:
        return 0;
    case Alignment::bottom_right:
        return numbers.keys - numbers.queries;
    case Alignment::unnamed:
        break;
    }
    return numbers.offset;
}

void narrow(Band &band, const MaskTerm &term, const MaskNumbers &numbers) {
    const int128 offset = offset_of(term.alignment, numbers);
    const int64_t first = value_of(term.numbers[0], numbers);
    const int64_t second = value_of(term.numbers[1], numbers);
    if (term.kind == MaskKind::prefix) band.high = std::min(band.high, first);
    if (term.kind == MaskKind::causal) band.high_shift = std::min(band.high_shift, clamped(offset + 1));
    if (term.kind != MaskKind::window) return;
    if (first >= 0) band.low_shift = std::max(band.low_shift, clamped(offset - first));
    if (second >= 0) band.high_shift = std::min(band.high_shift, clamped(offset + second + 1));
}

/** A set on the stack. */
struct Set {
    Interval *data;
    size_t size;
};

size_t join(StepKind kind, const Set &a, const Set &b, Interval *out) {
    return kind == StepKind::intersect ? intersect(a.data, a.size, b.data, b.size, out) : unite(a.data, a.size, b.data, b.size, out);
}

} // namespace

MaskProgram compile_masks(const text::MaskNode *first, const text::MaskNode *second) { return Compiler().run(first, second); }

void bind(const MaskProgram &program, const MaskNumbers &numbers, Band *bands) {
    for (const MaskStep &step : program.steps) {
        if (step.kind != StepKind::band) continue;
        Band band = {-beyond, beyond, 0, numbers.length};
        for (uint32_t i = 0; i < step.term_count; ++i)
            narrow(band, program.terms[step.first_term + i], numbers);
        *bands++ = band;
    }
}

size_t evaluate(const MaskProgram &program, const Band *bands, int32_t length, int64_t row, Interval *stack, const Interval *&result) {
    Set sets[max_open_sets];
    Set *top = sets; // one past the last set
    Interval *room = stack;
    for (const MaskStep &step : program.steps) {
        if (step.kind == StepKind::band) {
            *top++ = {room, evaluate_band(*bands++, row, *room) ? size_t{1} : size_t{0}};
        } else {
            const size_t consumed = step.kind == StepKind::complement ? 1 : 2;
            top -= consumed;
            const size_t size = consumed == 1 ? complement(top->data, top->size, length, room) : join(step.kind, top[0], top[1], room);
            std::copy(room, room + size, top->data);
            top++->size = size;
        }
        room = top[-1].data + top[-1].size;
    }
    result = sets[0].data;
    return sets[0].size;
}

} // namespace attune::runtime
