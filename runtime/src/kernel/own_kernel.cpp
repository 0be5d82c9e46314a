#include "runtime/src/kernel/own_kernel.h"

#include <algorithm>

#include "runtime/src/formatted.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

std::string argument(const char *name, const std::string &text) {
    return text.empty() ? "" : formatted(" {} \"{}\"", name, in_one_line(text));
}

} // namespace

std::string in_one_line(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    return text;
}

std::string cmake_line(const OwnKernel &kernel) {
    std::string line = "attune_add_kernel(my_attention";
    if (kernel.device == ATTUNE_CUDA) line += " DEVICE cuda";
    line += argument("MASK", kernel.mask) + argument("SCORE", kernel.score) + argument("POSITION", kernel.position);
    line += formatted(" HEAD_DIM {}", kernel.head_dim);
    if (kernel.value_dim != kernel.head_dim) line += formatted(" VALUE_DIM {}", kernel.value_dim);
    if (kernel.dtype != ATTUNE_F32) line += formatted(" DTYPE {}", attune_type_name(kernel.dtype));
    const bool named = !kernel.schedule.empty() && kernel.schedule != usual_schedule(kernel.device, kernel.dtype, kernel.head_dim);
    if (named) line += " SCHEDULE " + kernel.schedule;
    return line + ")";
}

} // namespace attune::runtime
