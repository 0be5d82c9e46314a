// Small helpers for binding declarations to buffers and schedules.
#pragma once

#include <string>

#include <Halide.h>

#include "dsl/loading.h"
#include "schedules/table.h"

namespace attune::generators {

/** The schedule of that name for the target's device; fails the build with the list of known ones otherwise. */
template <typename Entry> const Entry &known(const std::vector<Entry> &table, const std::string &name, const Halide::Target &target) {
    const char *device = schedules::device_of(target);
    const Entry *entry = schedules::find(table, name, device);
    if (entry == nullptr) {
        const std::string sentence = "attune: schedule is \"" + name + "\"; it must be one of " + schedules::names(table, device);
        throw Halide::CompileError(sentence.c_str());
    }
    return *entry;
}

/** An extent that is compiled in, or 0 for one known at run time. */
inline Halide::Expr extent_or(int compiled_in, const Halide::Expr &at_run_time) {
    return compiled_in != 0 ? Halide::Expr(compiled_in) : at_run_time;
}

/** A buffer whose innermost axis holds `extent` channels, contiguous. */
template <typename Buffer> void rows_of(Buffer &buffer, const Halide::Expr &extent) { buffer.dim(0).set_bounds(0, extent).set_stride(1); }

/** An index of what is read where it is used, which lies within that axis of a buffer, also where there is no more of it than one element:
 * then bounds inference asks for no more. */
inline Halide::Expr promised_inside(const Halide::Expr &index, const Halide::Internal::Dimension &axis) {
    return Halide::unsafe_promise_clamped(index, 0, axis.extent() - 1);
}

/** What a buffer is in lowered code. */
template <typename Buffer> const Halide::Parameter &parameter_of(const Buffer &buffer) {
    return buffer.dim(0).extent().template as<Halide::Internal::Variable>()->param;
}

/** Where a buffer's memory begins, at run time. */
template <typename Buffer> Halide::Expr address_of(const Buffer &buffer) { return dsl::address_of(parameter_of(buffer)); }

} // namespace attune::generators
