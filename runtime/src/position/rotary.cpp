#include <cstring>

#include "runtime/src/error.h"
#include "runtime/src/position/positioned_rows.h"
#include "runtime/src/tensor/overlap.h"

namespace attune::runtime {

namespace {

Status check_layout(const attune_rotary_layout &given) {
    const int layout = raw_value(given);
    ATTUNE_REQUIRE(layout == ATTUNE_ROTARY_HALF || layout == ATTUNE_ROTARY_INTERLEAVED,
                   "layout is {}; it must be ATTUNE_ROTARY_HALF ({}) or ATTUNE_ROTARY_INTERLEAVED ({})", layout,
                   static_cast<int>(ATTUNE_ROTARY_HALF), static_cast<int>(ATTUNE_ROTARY_INTERLEAVED));
    return {};
}

/** The last scaling that a thread's calls named. */
struct KnownScaling {
    char text[96] = "";
    text::RotaryScaling scaling;
};

// A model's calls all name one scaling: it is parsed once, for the parser uses the heap, and calls are not to.
Status read_scaling(const char *text, text::RotaryScaling &scaling) {
    static thread_local KnownScaling known;
    if (!text) return {};
    if (std::strcmp(text, known.text) != 0 || !*text) {
        const text::PositionResult parsed = text::parse_scaling(text);
        ATTUNE_REQUIRE(parsed.ok(), "scaling, {}", parsed.error);
        scaling = parsed.position.scaling;
        if (std::strlen(text) >= sizeof(known.text)) return {};
        known.scaling = scaling;
        std::strcpy(known.text, text);
    }
    scaling = known.scaling;
    return {};
}

Encoding encoding_of(const attune_rotary_args &args) {
    Encoding encoding;
    encoding.layout = args.layout == ATTUNE_ROTARY_HALF ? text::RotaryLayout::half : text::RotaryLayout::interleaved;
    encoding.base = args.base;
    encoding.dim = args.x.extent[args.x.rank - 1];
    encoding.width = args.rotary_dim != 0 ? args.rotary_dim : encoding.dim;
    encoding.sections = args.sections;
    encoding.section_count = args.section_count;
    encoding.axes = args.axes != 0 ? args.axes : 1;
    encoding.cosines = args.cosines, encoding.sines = args.sines;
    return encoding;
}

Status run_rotary(const attune_rotary_args &args, attune_call *call) {
    ATTUNE_TRY(check_rows(args.x, args.y));
    ATTUNE_TRY(check_layout(args.layout));
    Encoding encoding = encoding_of(args);
    ATTUNE_TRY(read_scaling(args.scaling, encoding.scaling));
    ATTUNE_TRY(check_encoding(encoding, {"rotary_dim", "dim", "sections", "axes"}));
    PositionLimit limit;
    if (args.x.device == ATTUNE_CUDA && (args.cosines || args.sines))
        return fail(ATTUNE_UNSUPPORTED, "{} is given; rotary embedding on device cuda works them out", args.cosines ? "cosines" : "sines");
    ATTUNE_TRY(check_rotary_rows(encoding, limit));
    const Positions positions = positions_of(args.x, args.positions, args.offset, encoding.streams());
    ATTUNE_TRY(check_positions(positions, limit));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {args.positions, "positions"}));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {args.cosines, "cosines"}));
    ATTUNE_TRY(check_apart({&args.y, "y"}, {args.sines, "sines"}));
    return run_encoding(encoding, positions, args.x, args.y, args.schedule, call);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_rotary_args_init(attune_rotary_args *args) {
    if (reset(args)) args->base = 10000.0;
}

extern "C" attune_status attune_rotary(const attune_rotary_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_TRY(check_struct(args, "args", "attune_rotary_args_init"));
        ATTUNE_TRY(check_call(call));
        return run_rotary(*args, call);
    });
}
