// Attune and another Halide library in one program, each on its own copy of Halide's runtime: both must run, and an error handler
// set for one must not be the other's.
#include "other_halide.h"

#include <HalideBuffer.h>
#include <attune/attune.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

int other_errors = 0;
void count_error(void *, const char *) { other_errors++; }

bool run_other() {
    Halide::Runtime::Buffer<float, 1> in(1000), out(1000), too_short(10);
    in.fill(1.0f);
    halide_set_error_handler(count_error);
    const bool ran = other_halide(in, out) == 0 && out(999) == 2.0f && other_errors == 0;
    return ran && other_halide(too_short, out) != 0 && other_errors == 1;
}

bool run_attune() {
    attune::AttentionDesc desc;
    desc.head_dim = 64;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return false;
    std::vector<float> zeros(100 * 64), ones(100 * 64, 1.0f), out(100 * 64);
    const attune::TensorView q(zeros.data(), {1, 1, 100, 64}), v(ones.data(), {1, 1, 100, 64}), y(out.data(), {1, 1, 100, 64});
    const attune::AttentionArgs args(q, q, v, y);
    return plan.value().run(args).ok() && std::abs(out[99 * 64] - 1.0f) < 1e-5f && other_errors == 1;
}

} // namespace

int main() {
    const bool other = run_other(), attune = run_attune();
    std::printf("other Halide library: %s, Attune: %s\n", other ? "ok" : "wrong", attune ? "ok" : "wrong");
    return other && attune ? 0 : 1;
}
