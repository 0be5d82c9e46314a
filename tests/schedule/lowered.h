// What a pass has made of a pipeline.
#pragma once

#include <vector>

#include <Halide.h>

namespace attune::test {

/** Shows a visitor all of lowered code. */
inline void visit(const Halide::Module &lowered, Halide::Internal::IRVisitor &visitor) {
    for (const auto &function : lowered.functions())
        function.body.accept(&visitor);
}

/** Shows a visitor all of a pipeline's lowered code. Attention takes seconds to lower: for several visitors, compile_to_module() once. */
inline void visit_lowered(Halide::Pipeline pipeline, const std::vector<Halide::Argument> &arguments, Halide::Internal::IRVisitor &visitor,
                          const Halide::Target &target = Halide::get_target_from_environment()) {
    visit(pipeline.compile_to_module(arguments, "kernel", target), visitor);
}

} // namespace attune::test
