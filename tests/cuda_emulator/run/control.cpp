// Branches, ends, barriers and fences.
#include "block.h"
#include "operations.h"

namespace attune::emulator {
namespace {

void do_nothing(Warp &, const Instruction &) {}
void fence_proxy(Warp &w, const Instruction &) {
    if (w.exec == w.lanes) w.block->fence_proxy(w);
}
void do_trap(Warp &, const Instruction &) { throw launch_error("the kernel traps"); }

void decode_nothing(Decoder &d) {
    d.ignore_beginning("");
    d.out.run = do_nothing;
}

void decode_fence(Decoder &d) {
    const bool of_proxy = d.has("proxy") && d.has("async");
    decode_nothing(d);
    if (of_proxy) d.out.run = fence_proxy;
}

void decode_branch(Decoder &d) {
    d.has("uni");
    const auto label = d.kernel().labels.find(d.operand(0).name);
    if (d.operands() != 1 || label == d.kernel().labels.end()) d.refuse("there is no label " + d.operand(0).name);
    d.out.flow = Flow::branch;
    d.out.target = static_cast<uint32_t>(label->second);
}

void decode_exit(Decoder &d) {
    d.has("uni");
    d.out.flow = Flow::exit;
}

// Flags of the instruction.
constexpr uint32_t arrives_only = 1, has_count = 2, reduces = 4, negated = 8; // and the reduction from bit 4 on

/** Rows: number, threads, and of bar.red the predicate and the destination. */
void barrier(Warp &w, const Instruction &x) {
    const uint32_t id = w.row<uint32_t>(x.rows[0])[0], threads = x.flags & has_count ? w.row<uint32_t>(x.rows[1])[0] : 0;
    w.block->arrive(w, x, id, threads, (x.flags & arrives_only) == 0);
}

void synchronise_warp(Warp &w, const Instruction &x) { require_converged(w, w.row<uint32_t>(x.rows[0])[__builtin_ctz(w.exec)] & w.lanes); }

void decode_reduction(Decoder &d, uint32_t operation) {
    const size_t operands = d.operands();
    if (operands < 3 || operands > 4) d.refuse();
    d.source(1, b32);
    d.source(operands == 4 ? 2 : 1, b32);
    Operand predicate = d.operand(operands - 1);
    d.out.flags = reduces | (operation << 4) | (operands == 4 ? has_count : 0) | (predicate.negated ? negated : 0);
    predicate.negated = false;
    d.read(predicate, predicate_type);
    d.dest(0, d.type());
}

void decode_barrier(Decoder &d) {
    if (d.has("warp")) {
        if (!d.has("sync")) d.refuse();
        d.source(0, b32);
        d.out.run = synchronise_warp;
        return;
    }
    if (d.has("cluster")) return decode_nothing(d); // a cluster is one block
    d.ignore({"cta", "aligned"});
    d.out.flow = Flow::barrier;
    d.out.run = barrier;
    const int kind = d.one_of({"sync", "arrive", "red"});
    if (kind < 0) d.refuse();
    if (kind == 2) {
        const int operation = d.one_of({"popc", "and", "or"});
        if (operation < 0) d.refuse();
        return decode_reduction(d, static_cast<uint32_t>(operation));
    }
    d.source(0, b32);
    if (d.operands() > 1) d.source(1, b32);
    if (kind == 1 && d.operands() < 2) d.refuse("the number of threads is missing");
    d.out.flags = (kind == 1 ? arrives_only : 0) | (d.operands() > 1 ? has_count : 0);
}

} // namespace

void add_control_opcodes(DecodeTable &table) {
    table["bra"] = decode_branch;
    table["ret"] = table["exit"] = decode_exit;
    table["bar"] = table["barrier"] = decode_barrier;
    for (const char *name : {"membar", "nanosleep", "griddepcontrol", "setmaxnreg", "pmevent"})
        table[name] = decode_nothing;
    table["fence"] = decode_fence;
    table["trap"] = [](Decoder &d) { d.out.run = do_trap; };
}

} // namespace attune::emulator
