#include "runtime/src/error.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/position/positioned_rows.h"
#include "runtime/src/tensor/overlap.h"

namespace attune::runtime {

namespace {

Status run_add_positions(const attune_add_positions_args &args, attune_call *call) {
    ATTUNE_TRY(check_rows(args.x, args.y));
    Encoding encoding;
    PositionLimit limit;
    encoding.kind = args.table ? text::PositionKind::learned : text::PositionKind::sinusoidal;
    encoding.base = args.base;
    encoding.dim = args.x.extent[args.x.rank - 1];
    encoding.learned = args.table;
    ATTUNE_TRY(check_base(args.base));
    if (args.x.device == ATTUNE_CUDA && args.table && args.positions)
        return fail(ATTUNE_UNSUPPORTED, "positions is given beside table; on device cuda a table's rows are those from offset on");
    if (args.table) ATTUNE_TRY(check_learned_table(*args.table, "table", encoding.dim, limit, args.x.device));
    const Positions positions = positions_of(args.x, args.positions, args.offset, 1);
    ATTUNE_TRY(check_positions(positions, limit));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {args.table, "table"}));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {args.positions, "positions"}));
    return run_encoding(encoding, positions, args.x, args.y, args.schedule, call);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_add_positions_args_init(attune_add_positions_args *args) {
    if (reset(args)) args->base = 10000.0;
}

extern "C" attune_status attune_add_positions(const attune_add_positions_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_add_positions_args_init"));
        ATTUNE_TRY(check_call(call));
        return run_add_positions(*args, call);
    });
}
