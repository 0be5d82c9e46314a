// What attention on a GPU reads of documents' ids, before it looks at any key: see dsl/document_ranges.h.
#include "dsl/document_ranges.h"

#include "generators/bind.h"
#include "text/mask.h"

namespace attune::generators {

static_assert(text::document_range_parts == dsl::document_range_parts);

class DocumentRanges : public Halide::Generator<DocumentRanges> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "simt"};
    Input<Buffer<int32_t, 2>> query_documents{"query_documents"}, key_documents{"key_documents"}; // (token, batch)
    Output<Buffer<int32_t, 3>> ranges{"ranges"}; // (DocumentRange, range of queries, batch)

    void generate() {
        const auto &schedule = known(schedules::document_ranges_schedules(), schedule_name, get_target());
        const schedules::Machine machine = schedules::machine(get_target());
        const Halide::Expr queries = query_documents.dim(0).extent(), keys = key_documents.dim(0).extent();
        const dsl::DocumentIds ids = {query_documents, key_documents, queries, keys, text::queries_a_document_range};
        const dsl::DocumentRanges declared = dsl::document_ranges(ids, schedule.shape(machine));
        ranges = declared.result;
        schedule.apply(declared, machine);
        for (auto *ids : {&query_documents, &key_documents})
            ids->dim(0).set_min(0).set_stride(Halide::Expr());
        ranges.dim(0).set_bounds(0, dsl::document_range_parts);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::DocumentRanges, document_ranges)
