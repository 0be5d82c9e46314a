#include "runtime/src/mask/program.h"

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

/** A term that one band can hold, with others of its kind. */
bool is_band_term(const MaskNode &node) {
    return node.kind == MaskKind::causal || node.kind == MaskKind::window || node.kind == MaskKind::prefix ||
           node.kind == MaskKind::lengths;
}

/** Writes the steps of a tree. */
class Compiler {
public:
    MaskProgram run(const MaskNode *first, const MaskNode *second) {
        MaskNode all;
        all.kind = MaskKind::conjunction;
        for (const MaskNode *mask : {first, second})
            if (mask && mask->kind != MaskKind::none) all.operands.push_back(*mask);
        write(all);
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
            return push(StepKind::complement);
        case MaskKind::documents:
            program_.depends_on_row = program_.depends_on_documents = true;
            return push(StepKind::documents);
        case MaskKind::blocks:
            program_.depends_on_row = program_.depends_on_blocks = true;
            return push(StepKind::blocks);
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
            if (++written > 1) push(StepKind::intersect);
        }
    }

    void collect(const MaskNode &node, std::vector<const MaskNode *> &terms, std::vector<const MaskNode *> &others) {
        for (const MaskNode &operand : node.operands) {
            if (operand.kind == MaskKind::conjunction) {
                collect(operand, terms, others);
            } else {
                (is_band_term(operand) ? terms : others).push_back(&operand);
            }
        }
    }

    void write_disjunction(const MaskNode &node) {
        for (size_t i = 0; i < node.operands.size(); ++i) {
            write(node.operands[i]);
            if (i > 0) push(StepKind::unite);
        }
    }

    void write_band(const std::vector<const MaskNode *> &terms) {
        const auto first = static_cast<uint32_t>(program_.terms.size());
        for (const MaskNode *node : terms)
            add_term(*node);
        ++program_.band_count;
        push(StepKind::band, first, static_cast<uint32_t>(terms.size()));
    }

    void add_term(const MaskNode &node) {
        MaskTerm term = {node.kind, node.alignment, {}};
        std::copy(node.numbers.begin(), node.numbers.end(), term.numbers);
        program_.terms.push_back(term);
        program_.depends_on_lengths = program_.depends_on_lengths || node.kind == MaskKind::lengths;
        if (node.kind == MaskKind::prefix || node.kind == MaskKind::lengths) return;
        program_.depends_on_row = true;
        program_.depends_on_offset = program_.depends_on_offset || node.alignment == Alignment::unnamed;
    }

    void push(StepKind kind, uint32_t first_term = 0, uint32_t term_count = 0) { program_.steps.push_back({kind, first_term, term_count}); }

    MaskProgram program_;
};

/** Sums that can't be held are beyond any key either way. */
int64_t clamped(int128 shift) { return static_cast<int64_t>(std::clamp<int128>(shift, -beyond, beyond)); }

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
    const int64_t first = value_of(term.numbers[0], numbers.params);
    const int64_t second = value_of(term.numbers[1], numbers.params);
    if (term.kind == MaskKind::prefix) band.high = std::min(band.high, first);
    if (term.kind == MaskKind::lengths) band.high = std::min(band.high, numbers.length);
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

/** Copies the keys of row `row` that lie below `cut`, and returns the number of intervals. */
size_t copy_set(const KeySets &sets, int64_t row, int32_t cut, Interval *out) {
    const int64_t set = sets.set_of(row);
    if (set < 0) return 0;
    const Interval *begin = sets.intervals + sets.first[set];
    const Interval *end = sets.intervals + sets.first[set + 1];
    size_t size = 0;
    for (const Interval *each = begin; each != end && each->begin < cut; ++each)
        out[size++] = {each->begin, std::min(each->end, cut)};
    return size;
}

size_t operands_of(StepKind kind) {
    if (kind == StepKind::complement) return 1;
    return kind == StepKind::intersect || kind == StepKind::unite ? 2 : 0;
}

} // namespace

bool is_interval_term(MaskKind kind) {
    return kind == MaskKind::causal || kind == MaskKind::window || kind == MaskKind::prefix || kind == MaskKind::lengths ||
           kind == MaskKind::documents || kind == MaskKind::blocks;
}

int64_t value_of(const text::Number &number, const int32_t *params) {
    return number.is_parameter() ? params[number.parameter] : number.value;
}

MaskProgram compile_masks(const text::MaskNode *first, const text::MaskNode *second) { return Compiler().run(first, second); }

void bind(const MaskProgram &program, const MaskNumbers &numbers, Band *bands) {
    for (const MaskStep &step : program.steps) {
        if (step.kind != StepKind::band) continue;
        Band band = {-beyond, beyond, 0, numbers.cut};
        for (uint32_t i = 0; i < step.term_count; ++i)
            narrow(band, program.terms[step.first_term + i], numbers);
        *bands++ = band;
    }
}

MaskRoom measure(const MaskProgram &program, size_t documents, size_t blocks) {
    size_t sizes[max_open_sets]; // the most intervals of each set on the stack
    size_t *top = sizes;
    MaskRoom room = {0, 0};
    for (const MaskStep &step : program.steps) {
        const size_t consumed = operands_of(step.kind);
        size_t size = step.kind == StepKind::documents ? documents : step.kind == StepKind::blocks ? blocks : 0;
        if (step.kind == StepKind::band || step.kind == StepKind::complement) size = 1;
        for (size_t i = 1; i <= consumed; ++i)
            size += *(top - i);
        if (step.kind == StepKind::intersect && size > 0) --size;
        size_t waiting = size; // the result is written above its operands before it takes their place
        for (const size_t *each = sizes; each != top; ++each)
            waiting += *each;
        room.stack_size = std::max(room.stack_size, waiting);
        top -= consumed;
        *top++ = size;
    }
    room.most_intervals = sizes[0];
    return room;
}

size_t evaluate(const BoundMask &mask, int64_t row, Interval *stack, const Interval *&result) {
    Set sets[max_open_sets];
    Set *top = sets; // one past the last set
    const Band *bands = mask.bands;
    Interval *room = stack;
    for (const MaskStep &step : mask.program.steps) {
        const size_t consumed = operands_of(step.kind);
        if (step.kind == StepKind::band) {
            *top++ = {room, evaluate_band(*bands++, row, *room) ? size_t{1} : size_t{0}};
        } else if (consumed == 0) {
            const KeySets &sets = step.kind == StepKind::documents ? mask.documents : mask.blocks;
            *top++ = {room, copy_set(sets, row, mask.cut, room)};
        } else {
            top -= consumed;
            const size_t size = consumed == 1 ? complement(top->data, top->size, mask.cut, room) : join(step.kind, top[0], top[1], room);
            std::copy(room, room + size, top->data);
            top++->size = size;
        }
        room = top[-1].data + top[-1].size;
    }
    result = sets[0].data;
    return sets[0].size;
}

} // namespace attune::runtime
