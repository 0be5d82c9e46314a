// The merge of two attention results.
#include "dsl/merge.h"

#include "generators/bind.h"

namespace attune::generators {

class Merge : public Halide::Generator<Merge> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    Input<Buffer<float, 4>> a{"a"};         // (dim, token, head, batch)
    Input<Buffer<float, 3>> a_lse{"a_lse"}; // (token, head, batch)
    Input<Buffer<float, 4>> b{"b"};
    Input<Buffer<float, 3>> b_lse{"b_lse"};
    Output<Buffer<float, 4>> out{"out"};
    Output<Buffer<float, 3>> lse{"lse"};

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::merge_schedules(), schedule_name, get_target());
        const dsl::Merge declared = dsl::merge(a, a_lse, b, b_lse);
        out = declared.output, lse = declared.lse;
        schedule.apply(declared, machine);
        bind();
    }

private:
    void bind() {
        const Halide::Expr width = a.dim(0).extent(), tokens = a.dim(1).extent(), heads = a.dim(2).extent(), batch = a.dim(3).extent();
        auto rows = [&](auto &buffer, int first) {
            buffer.dim(first).set_bounds(0, tokens), buffer.dim(first + 1).set_bounds(0, heads), buffer.dim(first + 2).set_bounds(0, batch);
        };
        rows_of(a, width), rows_of(b, width), rows_of(out, width);
        rows(a, 1), rows(b, 1), rows(out, 1), rows(a_lse, 0), rows(b_lse, 0), rows(lse, 0);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Merge, merge)
