#include "runtime/src/mask/key_sets.h"

#include <algorithm>

#include "runtime/src/tensor/integers.h"

namespace attune::runtime {

namespace {

/** Calls visit(id, begin, end) for each run of equal ids of one item: keys or queries begin ... end - 1. */
template <typename Visit> void for_each_run(const attune_tensor &ids, int64_t item, const Visit &visit) {
    const int64_t count = ids.extent[1], row = ids.extent[0] > 1 ? item : 0;
    for (int64_t begin = 0, end = 0; begin < count; begin = end) {
        const int64_t id = read_integer(ids, row, begin);
        do
            ++end;
        while (end < count && read_integer(ids, row, end) == id);
        visit(id, begin, end);
    }
}

/** The same for documents one after the other. */
template <typename Visit> void for_each_span(const attune_tensor &starts, const Visit &visit) {
    for (int64_t s = 0; s + 1 < starts.extent[0]; ++s) {
        const int64_t begin = read_integer(starts, s), end = read_integer(starts, s + 1);
        if (begin < end) visit(s, begin, end);
    }
}

template <typename Visit> void for_each_key_run(const DocumentInput &input, int64_t item, const Visit &visit) {
    input.documents ? for_each_run(*input.documents, item, visit) : for_each_span(*input.document_starts, visit);
}

template <typename Visit> void for_each_query_run(const DocumentInput &input, int64_t item, const Visit &visit) {
    if (input.query_documents) return for_each_run(*input.query_documents, item, visit);
    for_each_key_run(input, item, visit);
}

size_t count_key_runs(const DocumentInput &input, int64_t item) {
    size_t count = 0;
    for_each_key_run(input, item, [&](int64_t, int64_t, int64_t) { ++count; });
    return count;
}

int64_t items_of(const DocumentInput &input) {
    int64_t items = 1;
    for (const attune_tensor *ids : {input.documents, input.query_documents})
        if (ids) items = std::max(items, ids->extent[0]);
    return items;
}

Interval interval(int64_t begin, int64_t end) { return {static_cast<int32_t>(begin), static_cast<int32_t>(end)}; }

} // namespace

struct DocumentSets::Run {
    int64_t id;
    Interval keys;

    bool operator<(const Run &other) const { return id != other.id ? id < other.id : keys.begin < other.keys.begin; }
};

Status DocumentSets::allocate(const DocumentInput &input, size_t runs) {
    const auto items = static_cast<size_t>(items_), keys = static_cast<size_t>(input.keys), queries = static_cast<size_t>(input.queries);
    const bool enough = intervals_.allocate(items * runs) && first_.allocate(items * (runs + 1)) && key_numbers_.allocate(items * keys) &&
                        query_numbers_.allocate(items * queries);
    return enough ? Status() : out_of_memory("the documents", static_cast<int64_t>(items * (runs * 16 + (keys + queries) * 4)));
}

Status DocumentSets::fill(const DocumentInput &input) {
    items_ = items_of(input), queries_ = input.queries;
    size_t most = 0;
    for (int64_t item = 0; item < items_; ++item)
        most = std::max(most, count_key_runs(input, item));
    stride_ = most + 1;
    ATTUNE_TRY(allocate(input, most));
    Scratch<Run> runs(call_);
    if (!runs.allocate(most)) return out_of_memory("the documents", static_cast<int64_t>(most * sizeof(Run)));
    for (int64_t item = 0; item < items_; ++item)
        fill_item(input, item, runs.data());
    return {};
}

void DocumentSets::fill_item(const DocumentInput &input, int64_t item, Run *runs) {
    Run *end = runs;
    for_each_key_run(input, item, [&](int64_t id, int64_t begin, int64_t stop) { *end++ = {id, interval(begin, stop)}; });
    std::sort(runs, end);
    Interval *intervals = intervals_.data() + static_cast<size_t>(item) * (stride_ - 1);
    size_t *first = first_.data() + static_cast<size_t>(item) * stride_;
    int32_t *key_numbers = key_numbers_.data() + item * input.keys;
    int32_t documents = 0;
    for (const Run *run = runs; run != end; ++run) {
        if (run == runs || run->id != run[-1].id) first[documents++] = static_cast<size_t>(run - runs);
        intervals[run - runs] = run->keys;
        std::fill(key_numbers + run->keys.begin, key_numbers + run->keys.end, documents - 1);
    }
    first[documents] = static_cast<size_t>(end - runs);
    for (int32_t d = 0; d < documents; ++d)
        largest_ = std::max(largest_, first[d + 1] - first[d]);
    number_queries(input, item, runs, documents);
}

void DocumentSets::number_queries(const DocumentInput &input, int64_t item, const Run *runs, int32_t documents) {
    const size_t *first = first_.data() + static_cast<size_t>(item) * stride_, *end = first + documents;
    int32_t *numbers = query_numbers_.data() + item * input.queries;
    for_each_query_run(input, item, [&](int64_t id, int64_t begin, int64_t stop) {
        const size_t *found = std::lower_bound(first, end, id, [&](size_t run, int64_t wanted) { return runs[run].id < wanted; });
        const bool has_keys = found != end && runs[*found].id == id;
        std::fill(numbers + begin, numbers + stop, has_keys ? static_cast<int32_t>(found - first) : -1);
    });
}

KeySets DocumentSets::sets(int64_t item) const {
    const auto place = static_cast<size_t>(items_ > 1 ? item : 0);
    KeySets sets;
    sets.intervals = intervals_.data() + place * (stride_ - 1);
    sets.first = first_.data() + place * stride_;
    sets.set_of_row = query_numbers_.data() + place * static_cast<size_t>(queries_);
    return sets;
}

namespace {

/** The map's cells of one item, head and block of queries. */
struct MapRow {
    const attune_tensor &map;
    const uint8_t *cells;

    MapRow(const attune_tensor &map, int64_t item, int64_t head, int64_t row)
        : map(map), cells(static_cast<const uint8_t *>(map.data) + item * map.stride[0] + head * map.stride[1] + row * map.stride[2]) {}
    bool attends(int64_t block) const { return cells[block * map.stride[3]] != 0; }
};

/** Calls visit(begin, end) for each run of blocks of keys that a row of the map attends to. */
template <typename Visit> void for_each_block_run(const MapRow &row, const Visit &visit) {
    const int64_t count = row.map.extent[3];
    for (int64_t begin = 0, end = 0; begin < count; begin = end + 1) {
        while (begin < count && !row.attends(begin))
            ++begin;
        for (end = begin; end < count && row.attends(end); ++end) {
        }
        if (begin < end) visit(begin, end);
    }
}

/** Calls visit(row) for each row of each head of each item, in C order. */
template <typename Visit> void for_each_map_row(const attune_tensor &map, const Visit &visit) {
    for (int64_t item = 0; item < map.extent[0]; ++item)
        for (int64_t head = 0; head < map.extent[1]; ++head)
            for (int64_t row = 0; row < map.extent[2]; ++row)
                visit(MapRow(map, item, head, row));
}

} // namespace

Status BlockSets::fill(const attune_tensor &map, const BlockSize &size, int64_t keys) {
    items_ = map.extent[0], heads_ = map.extent[1], rows_ = map.extent[2], query_block_ = size.queries;
    size_t runs = 0;
    for_each_map_row(map, [&](const MapRow &row) { for_each_block_run(row, [&](int64_t, int64_t) { ++runs; }); });
    const size_t sets = static_cast<size_t>(items_ * heads_ * rows_);
    if (!intervals_.allocate(runs) || !first_.allocate(sets + 1))
        return out_of_memory("the block map", static_cast<int64_t>(runs * sizeof(Interval) + (sets + 1) * sizeof(size_t)));
    Interval *next = intervals_.data();
    size_t *first = first_.data();
    for_each_map_row(map, [&](const MapRow &row) {
        *first++ = static_cast<size_t>(next - intervals_.data());
        const Interval *begin_of_row = next;
        for_each_block_run(row,
                           [&](int64_t begin, int64_t end) { *next++ = interval(begin * size.keys, std::min(end * size.keys, keys)); });
        largest_ = std::max(largest_, static_cast<size_t>(next - begin_of_row));
    });
    *first = runs;
    return {};
}

KeySets BlockSets::sets(int64_t item, int64_t head) const {
    KeySets sets;
    sets.intervals = intervals_.data();
    sets.first = first_.data() + ((items_ > 1 ? item : 0) * heads_ + (heads_ > 1 ? head : 0)) * rows_;
    sets.rows_a_set = query_block_;
    return sets;
}

} // namespace attune::runtime
