#include "runtime/src/position/numbers.h"

#include <string>

#include "runtime/src/error.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** The index of a place in `given`, whose leading axes may be left out or broadcast. */
struct Place {
    int64_t stream, item, token;
};

int64_t number_at(const attune_tensor &given, const Place &place) {
    const int64_t index[3] = {place.stream, place.item, place.token};
    int64_t at = 0;
    for (int32_t axis = 0; axis < given.rank; ++axis)
        at += index[3 - given.rank + axis] * effective_stride(given, axis);
    return integer_at(given, at);
}

/** "1, 3": the place as the tensor's own axes count it. */
std::string show(const attune_tensor &given, const Place &place) {
    const int64_t index[3] = {place.stream, place.item, place.token};
    std::string text;
    for (int32_t axis = 3 - given.rank; axis < 3; ++axis)
        text += (text.empty() ? "" : ", ") + std::to_string(index[axis]);
    return text;
}

/** Calls visit(place, position) for the tokens [first, first + count), in the order of write_positions. */
template <typename Visit> void for_each_position(const Positions &p, int64_t first, int64_t count, const Visit &visit) {
    for (int64_t item = 0; item < p.own_batch(); ++item)
        for (int64_t stream = 0; stream < p.own_streams(); ++stream)
            for (int64_t token = first; token < first + count; ++token) {
                const Place place = {stream, item, token};
                visit(place, p.given ? number_at(*p.given, place) : p.offsets ? read_integer(*p.offsets, item) + token : p.offset + token);
            }
}

Status check_shape(const Positions &p) {
    const attune_tensor &given = *p.given;
    ATTUNE_TRY(check_type(given.type, p.name, integer_types));
    ATTUNE_REQUIRE(p.device == ATTUNE_CPU || given.type == ATTUNE_I32, "{}.type is {}; on device cuda it must be i32", p.name,
                   attune_type_name(given.type));
    ATTUNE_TRY(check_tensor(given, {p.name, given.type, 1, p.streams > 1 ? 3 : 2, Role::input, false, p.device}));
    const int32_t last = given.rank - 1;
    ATTUNE_REQUIRE(given.extent[last] == p.tokens, "{}.extent[{}] is {}; it must be {}, the tokens", p.name, last, given.extent[last],
                   p.tokens);
    if (last >= 1)
        ATTUNE_REQUIRE(given.extent[last - 1] == p.batch || given.extent[last - 1] == 1,
                       "{}.extent[{}] is {}; it must be 1 or {}, the batch", p.name, last - 1, given.extent[last - 1], p.batch);
    if (last == 2)
        ATTUNE_REQUIRE(given.extent[0] == p.streams, "{}.extent[0] is {}; it must be {}, one stream for each section or axis", p.name,
                       given.extent[0], p.streams);
    return {};
}

Status check_values(const Positions &p, const PositionLimit &limit) {
    Status status;
    for_each_position(p, 0, p.tokens, [&](const Place &place, int64_t position) {
        if (status.ok() && (position < limit.low || position > limit.high))
            status = fail(ATTUNE_INVALID_ARGUMENT, "{}[{}] is {}; it must be {} to {}, so that positions {}", p.name, show(*p.given, place),
                          position, limit.low, limit.high, limit.reason);
    });
    return status;
}

/** "cache.lengths[1]": what the positions of an item are counted from. */
std::string start_of(const Positions &p, int64_t item) {
    const std::string which = p.offsets ? "[" + std::to_string(item) + "]" : "";
    switch (p.counted_from) {
    case CountedFrom::cache:
        return "cache.lengths" + which;
    case CountedFrom::cache_and_new:
        return "cache.lengths" + which + " + T - N";
    case CountedFrom::offset:
        break;
    }
    return p.offsets ? "offsets" + which : "offset";
}

/** Positions offset ... offset + tokens - 1 are within the limit. */
Status check_start(const std::string &name, int64_t offset, int64_t tokens, const PositionLimit &limit) {
    const int64_t last = limit.high - tokens + 1;
    ATTUNE_REQUIRE(last >= limit.low, "there are {} tokens; they must be at most {}, so that their positions {}", tokens,
                   limit.high - limit.low + 1, limit.reason);
    ATTUNE_REQUIRE(offset >= limit.low && offset <= last, "{} is {}; it must be {} to {}, so that the positions of {} tokens {}", name,
                   offset, limit.low, last, tokens, limit.reason);
    return {};
}

} // namespace

int64_t Positions::own_batch() const {
    if (given) return given->rank >= 2 ? given->extent[given->rank - 2] : 1;
    return offsets ? batch : 1;
}

int64_t Positions::own_streams() const { return given && given->rank == 3 ? given->extent[0] : 1; }

Status check_positions(const Positions &p, const PositionLimit &limit) {
    if (p.given) {
        ATTUNE_TRY(check_shape(p));
        return p.device == ATTUNE_CPU && has_elements(*p.given) ? check_values(p, limit) : Status();
    }
    if (p.tokens == 0) return {};
    if (!p.offsets) return check_start(start_of(p, 0), p.offset, p.tokens, limit);
    for (int64_t item = 0; item < p.batch; ++item)
        if (const int64_t offset = read_integer(*p.offsets, item); offset < limit.low || offset > limit.high - p.tokens + 1)
            return check_start(start_of(p, item), offset, p.tokens, limit);
    return {};
}

void write_positions(const Positions &positions, int64_t first, int64_t count, int32_t *numbers) {
    for_each_position(positions, first, count, [&](const Place &, int64_t position) { *numbers++ = static_cast<int32_t>(position); });
}

} // namespace attune::runtime
