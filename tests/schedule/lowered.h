// What a pass has made of a pipeline.
#pragma once

#include <vector>

#include <Halide.h>

namespace attune::test {

/** Shows a visitor all of a pipeline's lowered code. */
inline void visit_lowered(Halide::Pipeline pipeline, const std::vector<Halide::Argument> &arguments, Halide::Internal::IRVisitor &visitor,
                          const Halide::Target &target = Halide::get_target_from_environment()) {
    const Halide::Module module = pipeline.compile_to_module(arguments, "kernel", target);
    for (const auto &function : module.functions())
        function.body.accept(&visitor);
}

} // namespace attune::test
