#include "generators/position_from_text.h"

#include "dsl/position.h"
#include "generators/text_parameters.h"
#include "text/position.h"

namespace attune::generators {

std::optional<dsl::Positioning> positioning_from_text(const std::string &text) {
    const text::Position position = position_parameter(text);
    if (position.kind == text::PositionKind::none) return std::nullopt;
    dsl::CompiledPosition compiled;
    using Kind = dsl::CompiledPosition::Kind;
    compiled.kind = position.kind == text::PositionKind::rotary ? Kind::rotary : Kind::added;
    compiled.layout = position.layout == text::RotaryLayout::half ? dsl::RotaryLayout::half : dsl::RotaryLayout::interleaved;
    compiled.width = position.width, compiled.axes = position.axes;
    return [compiled](const dsl::PositionedInput &row, const Halide::Expr &dim) { return dsl::positioned(compiled, row, dim); };
}

} // namespace attune::generators
