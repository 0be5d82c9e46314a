#include "targets.h"

#include <sstream>

namespace attune::test {

using Halide::Target;

std::vector<Target> runnable_targets() {
    const Target host = Halide::get_host_target();
    std::vector<Target> targets;
    std::istringstream names(ATTUNE_TEST_TARGETS);
    for (std::string name; std::getline(names, name, ',');) {
        const Target target(name);
        bool runs = true;
        for (int feature = 0; feature < Target::FeatureEnd; feature++)
            runs = runs && (!target.has_feature(Target::Feature(feature)) || host.has_feature(Target::Feature(feature)));
        if (runs) targets.push_back(target);
    }
    return targets;
}

std::string name_of_target(const Target &target) {
    if (target.has_feature(Target::AVX512_Skylake)) return "avx512";
    return target.has_feature(Target::AVX2) ? "avx2" : "x86_64";
}

} // namespace attune::test
