#include "runtime/src/attention/positions.h"

#include <algorithm>

#include "runtime/src/position/encoding.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

using text::Alignment;
using text::PositionKind;

Encoding encoding_of(const text::Position &position, int64_t head_dim, const attune_tensor *learned) {
    Encoding encoding;
    encoding.kind = position.kind;
    encoding.layout = position.layout;
    encoding.base = position.base;
    encoding.dim = head_dim;
    encoding.width = position.width != 0 ? position.width : head_dim;
    encoding.scaling = position.scaling;
    encoding.sections = position.sections.data();
    encoding.section_count = static_cast<int32_t>(position.sections.size());
    encoding.axes = position.axes;
    encoding.learned = learned;
    return encoding;
}

Positions query_positions(const PositionInput &in) {
    Positions p;
    p.batch = in.batch;
    p.tokens = in.queries;
    p.streams = in.position->streams();
    p.given = in.positions;
    if (in.position->alignment == Alignment::bottom_right) p.offset = in.keys - in.queries;
    if (in.position->alignment != Alignment::unnamed) return p;
    p.offset = in.offset;
    p.offsets = in.offsets;
    p.counted_from = in.counted_from;
    return p;
}

Positions key_positions(const PositionInput &in) {
    Positions p;
    p.batch = in.batch;
    p.tokens = in.keys;
    p.streams = in.position->streams();
    p.offset = in.key_offset;
    p.offsets = in.key_offsets;
    p.counted_from = in.keys_counted_from;
    const bool shared = !in.key_positions && in.queries == in.keys;
    p.given = shared ? in.positions : in.key_positions;
    p.name = shared ? "positions" : "key_positions";
    return p;
}

Status check_nothing_given(const PositionInput &in) {
    const struct {
        const attune_tensor *tensor;
        const char *name;
    } tensors[] = {{in.positions, "positions"}, {in.key_positions, "key_positions"}, {in.position_table, "position_table"}};
    for (const auto &[tensor, name] : tensors)
        ATTUNE_REQUIRE(!tensor, "{} is given; there is no position that reads it", name);
    return {};
}

Status check_table(const PositionInput &in, PositionLimit &limit) {
    const bool learned = in.position->kind == PositionKind::learned;
    ATTUNE_REQUIRE(learned || !in.position_table, "position_table is given; only the position learned reads it");
    if (!learned) return {};
    ATTUNE_REQUIRE(in.position_table, "position_table is NULL; the position learned needs one");
    return check_learned_table(*in.position_table, "position_table", in.head_dim, limit);
}

/** One table for tokens that are counted on: from the first of all queries and keys to the last. */
Positions all_positions(const Positions &queries, const Positions &keys) {
    Positions all = keys;
    all.offset = std::min(queries.offset, keys.offset);
    all.tokens = std::max(queries.offset + queries.tokens, keys.offset + keys.tokens) - all.offset;
    return all;
}

bool is_counted(const Positions &p) { return !p.given && !p.offsets; }

/** Makes one table, and the other behind it. */
class TableMaker {
public:
    TableMaker(const Encoding &encoding, Call &call) : encoding_(encoding), call_(call) {}

    Status find_kernel() {
        if (encoding_.kind == PositionKind::learned) return {};
        return find_table_kernel(encoding_, nullptr, kernel_);
    }
    Status reserve(const Positions &positions) {
        int64_t elements = 0;
        ATTUNE_TRY(count_table(encoding_, positions, positions.tokens, elements));
        elements_ += elements;
        return {};
    }
    Status allocate(Scratch<float> &memory) {
        if (!memory.allocate(static_cast<size_t>(elements_))) return out_of_memory("the tables of positions", elements_ * 4);
        next_ = memory.data();
        return {};
    }
    Status make(const Positions &positions, attune_tensor &table) {
        int64_t elements = 0;
        ATTUNE_TRY(count_table(encoding_, positions, positions.tokens, elements));
        float *memory = next_;
        next_ += elements;
        return make_table(encoding_, kernel_, positions, 0, positions.tokens, memory, call_, table);
    }

private:
    const Encoding &encoding_;
    Call &call_;
    const attune_kernel *kernel_ = nullptr;
    int64_t elements_ = 0;
    float *next_ = nullptr;
};

} // namespace

Status check_position(const text::Position &position, int64_t head_dim) {
    return check_encoding(encoding_of(position, head_dim, nullptr), {"width", "D", "sections", "axes"});
}

Status check_position_input(const PositionInput &in, bool offset_given) {
    if (!in.position || in.position->kind == PositionKind::none) return check_nothing_given(in);
    PositionLimit limit;
    ATTUNE_TRY(check_table(in, limit));
    const bool placed = offset_given || in.queries == in.keys || in.positions || in.position->alignment != Alignment::unnamed;
    ATTUNE_REQUIRE(placed,
                   "the position names no alignment, and N = {} differs from M = {}; give an offset or positions, or name top_left or "
                   "bottom_right in rotary",
                   in.queries, in.keys);
    ATTUNE_TRY(check_positions(query_positions(in), limit));
    return check_positions(key_positions(in), limit);
}

Status make_position_tables(const PositionInput &in, Call &call, Scratch<float> &memory, attune_tensor &query_table,
                            attune_tensor &key_table) {
    const Encoding encoding = encoding_of(*in.position, in.head_dim, in.position_table);
    const Positions queries = query_positions(in), keys = key_positions(in), all = all_positions(queries, keys);
    const bool same = queries.given && queries.given == keys.given;
    const bool shared = same || (is_counted(queries) && is_counted(keys) && all.tokens <= queries.tokens + keys.tokens);
    TableMaker maker(encoding, call);
    ATTUNE_TRY(maker.find_kernel());
    if (shared) {
        ATTUNE_TRY(maker.reserve(same ? keys : all));
        ATTUNE_TRY(maker.allocate(memory));
        attune_tensor table;
        ATTUNE_TRY(maker.make(same ? keys : all, table));
        query_table = same ? table : slice(table, 1, queries.offset - all.offset, queries.tokens);
        key_table = same ? table : slice(table, 1, keys.offset - all.offset, keys.tokens);
        return {};
    }
    ATTUNE_TRY(maker.reserve(queries));
    ATTUNE_TRY(maker.reserve(keys));
    ATTUNE_TRY(maker.allocate(memory));
    ATTUNE_TRY(maker.make(queries, query_table));
    return maker.make(keys, key_table);
}

Status apply_position(const text::Position &position, const attune_tensor &x, const attune_tensor &table, Call &call, Scratch<char> &memory,
                      attune_tensor &result) {
    const Encoding encoding = encoding_of(position, x.extent[3], nullptr);
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_apply_kernel(encoding, nullptr, x.type, kernel));
    ATTUNE_TRY(make_scratch_tensor("a copy of q or k", x.type, 4, x.extent, memory, result));
    return has_elements(x) ? apply_table(encoding, *kernel, x, table, result, call) : Status();
}

} // namespace attune::runtime
