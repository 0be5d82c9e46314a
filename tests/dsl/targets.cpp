#include "targets.h"

#include <cstdint>
#include <dlfcn.h>
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

namespace {

template <typename Function> Function *function_of(const char *library, const char *name) {
    void *handle = dlopen(library, RTLD_LAZY);
    return handle ? reinterpret_cast<Function *>(dlsym(handle, name)) : nullptr;
}

bool has_opencl() {
    const auto count = function_of<int(uint32_t, void **, uint32_t *)>("libOpenCL.so.1", "clGetPlatformIDs");
    uint32_t platforms = 0;
    return count && count(0, nullptr, &platforms) == 0 && platforms > 0;
}

bool has_cuda() {
    const auto start = function_of<int(unsigned)>("libcuda.so.1", "cuInit");
    const auto count = function_of<int(int *)>("libcuda.so.1", "cuDeviceGetCount");
    int devices = 0;
    return start && count && start(0) == 0 && count(&devices) == 0 && devices > 0;
}

} // namespace

std::vector<Target> cuda_targets() {
    if (!has_cuda()) return {};
    return {Target("x86-64-linux-cuda-cuda_capability_75")};
}

Target opencl_target() { return Target("x86-64-linux-opencl-cl_doubles"); }

std::string why_not_here(const Target &target) {
    if (!target.has_feature(Target::OpenCL) || has_opencl()) return "";
    return "there is no OpenCL device; apt-get install pocl-opencl-icd ocl-icd-libopencl1 brings one that is the CPU";
}

std::string name_of_target(const Target &target) {
    if (target.has_feature(Target::OpenCL)) return "opencl";
    if (target.has_feature(Target::CUDA)) return "cuda";
    if (target.has_feature(Target::AVX512_Skylake)) return "avx512";
    return target.has_feature(Target::AVX2) ? "avx2" : "x86_64";
}

} // namespace attune::test
