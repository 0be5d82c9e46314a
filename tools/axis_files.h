// The input files of the operations along one axis, softmax and log-sum-exp: read, checked, viewed.
#pragma once

#include <initializer_list>
#include <string>

#include <CLI/CLI.hpp>

#include "array.h"

namespace attune::tools {

/** What the command line says. */
struct AxisOptions {
    std::string input, mask_tensor; // paths; the mask's may be empty
    int64_t axis = -1;
};

/** Declares the input, --axis and --mask-tensor. `types`: of the input, as the help says it. */
void add_axis_options(CLI::App &app, AxisOptions &options, const std::string &types);

/** The input, of any rank from 1, and its mask. */
class AxisFiles {
public:
    /** Throws CommandError naming the file, or --axis, that is wrong. */
    AxisFiles(const AxisOptions &options, std::initializer_list<attune_type> types);
    AxisFiles(const AxisFiles &) = delete; // mask() points into it
    AxisFiles &operator=(const AxisFiles &) = delete;

    attune_type type() const { return x_.type; }
    const Shape &shape() const { return x_.shape; }
    /** The shape with 1 on the axis. */
    Shape reduced_shape() const;
    TensorView x() const { return view_of(x_); }
    /** An array of the input's rank in the same view as the input: as [before, axis, after] where it has more axes than a tensor. */
    TensorView view_of(const Array &array) const;
    int32_t axis() const { return joins_axes_ ? 1 : axis_; } // in these views
    const TensorView *mask() const { return mask_.data ? &mask_view_ : nullptr; }

private:
    Array x_, mask_;
    TensorView mask_view_;
    bool joins_axes_;
    int32_t axis_; // from the front
};

} // namespace attune::tools
