// New tokens into a cache on a GPU, in place: what isn't written stays as it is.
#include "dsl/cache.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "generators/bind.h"

namespace attune::generators {

/** Buffers that aren't used may have extents 1 and no memory: they aren't read. */
class CacheWrite : public Halide::Generator<CacheWrite> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "simt"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // its bits alone count
    Input<Buffer<void, 4>> update{"update"};                        // (dim, token, head, batch)
    Input<Buffer<int32_t, 1>> starts{"starts"};                     // (batch); 0 unless used
    Input<Buffer<int32_t, 2>> pages{"pages"};                       // (page of the item, batch): page of the cache; its own one unless used
    Input<int32_t> use_starts{"use_starts"}, use_pages{"use_pages"}, circular{"circular"};
    Input<int32_t> page_size{"page_size"}, page_count{"page_count"}; // of the cache
    Output<Buffer<void, 4>> cache{"cache"};                          // (dim, token of the page, head, page)

    void configure() { update.set_type(dtype), cache.set_type(dtype); }

    void generate() {
        const auto &schedule = known(schedules::cache_write_schedules(), schedule_name, get_target());
        const dsl::CacheWrite declared = dsl::cache_write(inputs());
        cache = declared.cache;
        schedule.apply(declared, schedules::machine(get_target()));
        const Halide::Expr any;
        for (int axis = 0; axis < 4; axis++)
            update.dim(axis).set_min(0), cache.dim(axis).set_min(0);
        cache.dim(1).set_extent(page_size), cache.dim(3).set_extent(page_count);
        update.dim(0).set_stride(any), cache.dim(0).set_stride(any), starts.dim(0).set_min(0).set_stride(any);
        for (int axis : {0, 1})
            pages.dim(axis).set_min(0).set_stride(any);
    }

private:
    dsl::CacheWriteInputs inputs() {
        using namespace dsl::axes;
        const Halide::Var nth("nth");
        const Halide::Expr paged = use_pages != 0, columns = pages.dim(0).extent();
        dsl::CacheWriteInputs in = {update,
                                    update.dim(0).extent(),
                                    update.dim(1).extent(),
                                    update.dim(2).extent(),
                                    update.dim(3).extent(),
                                    Halide::Func("start"),
                                    Halide::Func("page"),
                                    page_size,
                                    page_count,
                                    page_size * select(paged, columns, 1),
                                    circular};
        in.start(batch) = dsl::branch(use_starts != 0, starts(unsafe_promise_clamped(batch, 0, starts.dim(0).extent() - 1)), 0);
        const Halide::Expr of_item = unsafe_promise_clamped(batch, 0, pages.dim(1).extent() - 1);
        in.page(nth, batch) = dsl::branch(paged, pages(clamp(nth, 0, columns - 1), of_item), batch);
        return in;
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::CacheWrite, cache_write)
