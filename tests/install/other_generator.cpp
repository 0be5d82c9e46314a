// An ordinary Halide library of somebody else's.
#include <Halide.h>

namespace {

class Brighten : public Halide::Generator<Brighten> {
public:
    Input<Buffer<float, 1>> in{"in"};
    Output<Buffer<float, 1>> out{"out"};

    void generate() {
        Halide::Var x("x");
        out(x) = in(x) + 1.0f;
    }
    void schedule() { out.parallel(out.args()[0], 64); }
};

} // namespace

HALIDE_REGISTER_GENERATOR(Brighten, brighten)
