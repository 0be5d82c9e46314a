#include "runtime/src/position/encoding.h"

#include <cmath>
#include <numeric>

#include "runtime/src/error.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

Status check_width(const Encoding &e, const EncodingNames &names) {
    ATTUNE_REQUIRE(e.width != e.dim || e.dim % 2 == 0,
                   "{} is {} and all of it is rotated; it must be even, for channels are rotated in pairs", names.dim, e.dim);
    ATTUNE_REQUIRE(e.width >= (e.dim > 0 ? 2 : 0) && e.width <= e.dim && e.width % 2 == 0,
                   "{} is {}; it must be even and 2 to {} = {}, or 0 for all of {}", names.width, e.width, names.dim, e.dim, names.dim);
    return {};
}

Status check_sections(const Encoding &e, const EncodingNames &names) {
    ATTUNE_REQUIRE(e.section_count >= 0 && e.section_count <= max_position_streams, "there are {} {}; there must be 0 to {}",
                   e.section_count, names.sections, max_position_streams);
    if (e.section_count == 0) return {};
    ATTUNE_REQUIRE(e.sections, "{} is NULL; there are {}", names.sections, e.section_count);
    for (int32_t i = 0; i < e.section_count; ++i)
        ATTUNE_REQUIRE(e.sections[i] >= 0, "{}[{}] is {}; it must be 0 pairs or more", names.sections, i, e.sections[i]);
    const int64_t sum = std::accumulate(e.sections, e.sections + e.section_count, int64_t{0});
    ATTUNE_REQUIRE(sum == e.width / 2, "{} add up to {}; they must to {}, half of the {} channels rotated", names.sections, sum,
                   e.width / 2, e.width);
    ATTUNE_REQUIRE(e.axes == 1, "{} is {} and there are {} {}; only one may be given", names.axes, e.axes, e.section_count, names.sections);
    return {};
}

Status check_axes(const Encoding &e, const EncodingNames &names) {
    ATTUNE_REQUIRE(e.axes >= 1 && e.axes <= max_position_streams, "{} is {}; it must be 0 to {}", names.axes, e.axes, max_position_streams);
    ATTUNE_REQUIRE(e.width % (int64_t{2} * e.axes) == 0, "{} is {}; it must divide the {} pairs of channels rotated", names.axes, e.axes,
                   e.width / 2);
    return {};
}

} // namespace

Status check_base(double base) {
    ATTUNE_REQUIRE(std::isfinite(base) && base > 0, "base is {}; it must be above 0 and finite", base);
    return {};
}

Status check_encoding(const Encoding &e, const EncodingNames &names) {
    ATTUNE_TRY(check_base(e.base));
    if (e.kind != text::PositionKind::rotary) return {};
    ATTUNE_TRY(check_width(e, names));
    ATTUNE_TRY(check_sections(e, names));
    ATTUNE_TRY(check_axes(e, names));
    ATTUNE_REQUIRE(e.scaling.kind != text::ScalingKind::yarn || e.base > 1, "base is {}; with the scaling yarn it must be above 1", e.base);
    return {};
}

Status check_learned_table(const attune_tensor &table, const char *name, int64_t dim, PositionLimit &limit, attune_device device) {
    ATTUNE_TRY(check_tensor(table, {name, ATTUNE_F32, 2, 2, Role::input, true, device}));
    ATTUNE_REQUIRE(table.extent[1] == dim, "{}.extent[1] is {}; it must be {}, the channels", name, table.extent[1], dim);
    limit = {0, table.extent[0] - 1, "are rows of the table"};
    return {};
}

Status check_rotary_rows(const Encoding &e, PositionLimit &limit) {
    ATTUNE_REQUIRE(!e.cosines == !e.sines, "{} is NULL and {} is not; both or neither must be given", e.cosines ? "sines" : "cosines",
                   e.cosines ? "cosines" : "sines");
    if (!e.cosines) return {};
    ATTUNE_REQUIRE(e.scaling.kind == text::ScalingKind::none && e.section_count == 0 && e.axes == 1,
                   "cosines and sines are given; scaling, sections and axes, which work out others, must not be");
    for (const attune_tensor *rows : {e.cosines, e.sines})
        ATTUNE_TRY(check_tensor(*rows, {rows == e.cosines ? "cosines" : "sines", ATTUNE_F32, 2, 2, Role::input, true}));
    ATTUNE_REQUIRE(e.cosines->extent[1] == e.channels(), "cosines.extent[1] is {}; it must be {}, half of the channels rotated",
                   e.cosines->extent[1], e.channels());
    ATTUNE_TRY(check_extents(*e.sines, "sines", {{e.cosines->extent[0], "the rows of cosines"}, {e.channels(), "as in cosines"}}));
    limit = {0, e.cosines->extent[0] - 1, "are rows of cosines and sines"};
    return {};
}

} // namespace attune::runtime
