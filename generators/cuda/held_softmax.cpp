// Softmax and log-softmax of rows on a GPU: where a row fits in the registers of the threads that share it, from there.
#include "dsl/held_softmax.h"

#include "generators/cuda/shares_multiprocessor.h"
#include "generators/softmax.h"
#include "schedules/cuda/held_softmax.h"
#include "schedules/cuda/passes.h"
#include "schedules/cuda/whole_vectors.h"

namespace attune::generators {

class HeldSoftmax : public SoftmaxGenerator<HeldSoftmax>, public SharesMultiprocessor {
public:
    int threads_per_multiprocessor() const override { return schedules::cuda::held_threads_per_multiprocessor; }

    /** Called after generate(): the pipeline is known only then. */
    void schedule() {
        schedules::cuda::add_held_softmax_passes(get_pipeline(), {parameter_of(x).name(), parameter_of(y).name()});
        SoftmaxGenerator::schedule();
    }

private:
    // By the first share that a row fits, each of them in code of its own. Were the result a select, Halide would have to see that none is
    // taken in the code for all else.
    void declare_more(dsl::Softmax &declared) override {
        const std::vector<Halide::Var> args = declared.result.args();
        Halide::Func result("softmax");
        result(args) = declared.result(args);
        const auto special = [&](const auto &softmax, const Halide::Expr &unfit, const auto &schedule) {
            const Halide::Stage stage = result.specialize(unfit == 0);
            result.function().definition().specializations().back().definition.values() = {softmax.result(args)};
            schedule(softmax, result, stage);
        };
        for (const dsl::RowShare &share : schedules::cuda::held_shares(schedule_name, dtype)) {
            const Halide::Expr too_long = cast<int32_t>(x.dim(1).extent() > share.elements());
            special(dsl::held_softmax(inputs(), kind, share), too_long | unfit(share, result.output_buffer()), schedules::cuda::hold);
        }
        if (schedule_name.value() != "warps")
            for (const bool whole_vectors : {true, false}) {
                const dsl::RowShare share = schedules::cuda::online_share(schedule_name, dtype, whole_vectors);
                special(dsl::online_softmax(inputs(), kind, share), unfit(share, result.output_buffer()), schedules::cuda::go_through);
            }
        declared.result = result;
    }

    // 0 where there is no mask, and all rows begin with whole vectors and end with them; and the temperature isn't too low.
    Halide::Expr unfit(const dsl::RowShare &share, const Halide::OutputImageParam &out) {
        const Halide::Expr other = cast<int32_t>(use_mask != 0 || temperature < dsl::least_held_temperature);
        if (share.vector == 1) return other;
        const Halide::Expr elements = x.dim(1).extent() | x.dim(2).stride() | out.dim(2).stride();
        const Halide::Expr bytes = dsl::device_address_of(parameter_of(x)) | dsl::device_address_of(parameter_of(out));
        return other | elements % share.vector | cast<int32_t>(bytes % Halide::Expr(uint64_t(schedules::cuda::vector_bytes)));
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::HeldSoftmax, held_softmax)
