#include "axis_files.h"

#include <limits>

#include "error.h"
#include "npy.h"
#include "options.h"

namespace attune::tools {
namespace {

/** Reads a mask, aligned at the right to `shape`, each axis full or 1. */
Array read_mask(const std::string &file, const Shape &shape) {
    Array mask = read_npy(file, {ATTUNE_BOOL});
    bool fits = mask.shape.size() <= shape.size();
    for (std::size_t i = 1; fits && i <= mask.shape.size(); ++i) {
        const int64_t extent = mask.shape[mask.shape.size() - i];
        fits = extent == 1 || extent == shape[shape.size() - i];
    }
    if (!fits)
        bad_argument("{} has shape {}; aligned at the right, each axis must be 1 or that of X = {}", file, shape_text(mask.shape),
                     shape_text(shape));
    return mask;
}

} // namespace

void add_axis_options(CLI::App &app, AxisOptions &options, const std::string &types) {
    constexpr int64_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
    add_text(app, "X", options.input, "Input: " + types + " .npy of any rank from 1")->required();
    add_integer(app, "--axis", options.axis, low, high, "The axis, below 0 counted from the end; -1 by default");
    add_text(app, "--mask-tensor", options.mask_tensor, "|b1 .npy, true counts; aligned at the right to X, each axis full or 1");
}

AxisFiles::AxisFiles(const AxisOptions &options, std::initializer_list<attune_type> types) : x_(read_npy(options.input, types)) {
    const auto rank = static_cast<int64_t>(x_.shape.size());
    const bool has_mask = !options.mask_tensor.empty();
    joins_axes_ = rank > ATTUNE_MAX_RANK;
    if (rank == 0) bad_argument("{} has rank 0; it must be at least 1, for the axis", options.input);
    if (has_mask && joins_axes_)
        bad_argument("{} has rank {}; with --mask-tensor it must be at most {}", options.input, rank, ATTUNE_MAX_RANK);
    if (options.axis < -rank || options.axis >= rank)
        bad_argument("--axis is {}; it must be {} to {}, for {} has rank {}", options.axis, -rank, rank - 1, options.input, rank);
    axis_ = static_cast<int32_t>(options.axis < 0 ? options.axis + rank : options.axis);
    if (!has_mask) return;
    mask_ = read_mask(options.mask_tensor, x_.shape);
    mask_view_ = view(mask_, static_cast<int>(rank));
}

Shape AxisFiles::reduced_shape() const {
    Shape shape = x_.shape;
    shape[static_cast<std::size_t>(axis_)] = 1;
    return shape;
}

TensorView AxisFiles::view_of(const Array &array) const {
    if (!joins_axes_) return view(array);
    const auto at = array.shape.begin() + axis_;
    const Shape shape = {element_count({array.shape.begin(), at}, "what comes before the axis"), *at,
                         element_count({at + 1, array.shape.end()}, "what comes after the axis")};
    return attune_contiguous(array.data.get(), array.type, 3, shape.data());
}

} // namespace attune::tools
