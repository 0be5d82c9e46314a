#include <cstring>

#include "runtime/src/error.h"
#include "runtime/src/tensor/floats.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

Status check_table(const attune_tensor &table, const char *name, const attune_embedding_args &args) {
    ATTUNE_TRY(check_tensor(table, {name, args.y.type, 2, 2, Role::input, true}));
    const int64_t channels = args.y.extent[args.y.rank - 1];
    ATTUNE_REQUIRE(table.extent[1] == channels, "{}.extent[1] is {}; it must be {}, the channels of y", name, table.extent[1], channels);
    return check_apart({&args.y, "y"}, {&table, name});
}

/** Calls visit(id, token, element of y) for each id; token is its place on the last axis of ids. */
template <typename Visit> Status for_each_id(const attune_embedding_args &args, const Visit &visit) {
    const attune_tensor &ids = args.ids;
    const int32_t last = ids.rank - 1;
    const int64_t step = effective_stride(ids, last), row = effective_stride(args.y, last);
    const JoinedAxes others({&ids, &args.y}, last);
    JoinedAxes::Index at;
    do
        for (int64_t token = 0; token < ids.extent[last]; ++token)
            ATTUNE_TRY(visit(integer_at(ids, at.elements[0] + token * step), token, at.elements[1] + token * row));
    while (others.advance(at));
    return {};
}

Status check_embedding(const attune_embedding_args &args) {
    ATTUNE_TRY(check_type(args.y.type, "y", layer_types));
    ATTUNE_TRY(check_integers(args.ids, "ids", 1, ATTUNE_MAX_RANK - 1));
    ATTUNE_TRY(check_tensor(args.y, {"y", args.y.type, args.ids.rank + 1, args.ids.rank + 1, Role::output, true}));
    ATTUNE_TRY(check_same_extents(args.y, "y", args.ids, "ids", args.ids.rank));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {&args.ids, "ids"}));
    ATTUNE_TRY(check_table(args.table, "table", args));
    if (!args.positions) return {};
    ATTUNE_TRY(check_table(*args.positions, "positions", args));
    const int64_t tokens = args.ids.extent[args.ids.rank - 1], rows = args.positions->extent[0];
    ATTUNE_REQUIRE(rows >= tokens, "positions has {} rows; there must be {} or more, one for each token of ids", rows, tokens);
    ATTUNE_REQUIRE(args.offset >= 0 && args.offset <= rows - tokens,
                   "offset is {}; it must be 0 to {}, for positions has {} rows and ids {} tokens", args.offset, rows - tokens, rows,
                   tokens);
    return {};
}

float sum_of(float a, float b) { return a + b; }
uint16_t sum_of(uint16_t a, uint16_t b) { return bfloat16_bits(bfloat16_value(a) + bfloat16_value(b)); }

template <typename Element> void add_row(const void *row, void *to, int64_t channels) {
    const auto *from = static_cast<const Element *>(row);
    auto *y = static_cast<Element *>(to);
    for (int64_t c = 0; c < channels; ++c)
        y[c] = sum_of(y[c], from[c]);
}

Status run_embedding(const attune_embedding_args &args) {
    ATTUNE_TRY(for_each_id(args, [&](int64_t id, int64_t, int64_t) -> Status {
        ATTUNE_REQUIRE(id >= 0 && id < args.table.extent[0], "ids has {}; it must be 0 to {}, for table has {} rows", id,
                       args.table.extent[0] - 1, args.table.extent[0]);
        return {};
    }));
    const int64_t channels = args.table.extent[1];
    return for_each_id(args, [&](int64_t id, int64_t token, int64_t to) -> Status {
        void *y = element_at(args.y, to);
        std::memcpy(y, element_at(args.table, id * effective_stride(args.table, 0)),
                    static_cast<size_t>(channels) * attune_type_size(args.y.type));
        if (!args.positions) return {};
        const void *row = element_at(*args.positions, (args.offset + token) * effective_stride(*args.positions, 0));
        args.y.type == ATTUNE_F32 ? add_row<float>(row, y, channels) : add_row<uint16_t>(row, y, channels);
        return {};
    });
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_embedding_args_init(attune_embedding_args *args) { reset(args); }

extern "C" attune_status attune_embedding(const attune_embedding_args *args) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_embedding_args_init"));
        ATTUNE_TRY(check_embedding(*args));
        return has_elements(args->y) ? run_embedding(*args) : Status();
    });
}
