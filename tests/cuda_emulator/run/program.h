// A kernel decoded for execution: instructions with a handler each, and operands resolved to rows of a warp's registers.
//
// A row holds one register of all 32 lanes: 32 words of 4 or 8 bytes, lane after lane, or for a predicate one word with a bit a lane.
// Registers of 8 and 16 bits lie in words of 4 bytes with zeros above. Immediates, parameters' addresses and special registers are rows
// too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../ptx/module.h"

namespace attune::emulator {

struct Warp;
struct Instruction;
using Handler = void (*)(Warp &, const Instruction &);

inline constexpr uint32_t no_guard = ~0u;

/** What comes after an instruction. A barrier lets the other warps run. */
enum class Flow : uint8_t { next, branch, exit, barrier };

struct Instruction {
    Handler run = nullptr;
    const uint32_t *rows = nullptr; // byte offsets into the warp's registers
    uint32_t guard = no_guard;      // byte offset of the predicate
    Flow flow = Flow::next;
    bool guard_negated = false;
    Space space = Space::global;
    bool generic = false;      // the address tells the space
    bool wide_address = false; // its base has 64 bits
    uint8_t bytes = 0;         // of an element in memory
    uint32_t count = 0;        // of elements, of rows in a list: each handler's own
    uint32_t target = 0;       // of a branch
    uint32_t flags = 0;        // each handler's own
    int64_t immediate = 0;     // an offset, or each handler's own
    uint32_t first = 0;        // in Program::uses
    uint32_t statement = 0;    // in Program::kernel.code
};

/** Special registers that are rows. */
enum class Special : uint8_t {
    tid, // with an axis each
    ntid,
    ctaid,
    nctaid,
    laneid,
    warpid,
    nwarpid,
    lanemask_eq,
    lanemask_lt,
    lanemask_le,
    lanemask_gt,
    lanemask_ge,
    dynamic_shared,
    total_shared,
    zero, // %smid, %gridid, the place in a cluster of one block
    one,  // %nsmid, the size of a cluster
};

enum class Width : uint8_t { predicate, narrow, wide };
inline constexpr uint32_t row_bytes[] = {4, 128, 256};

/** A value that instructions read or write. */
struct Slot {
    enum class Origin : uint8_t { reg, constant, special, sink };
    Origin origin = Origin::reg;
    Width width = Width::narrow;
    Special special = Special::zero;
    uint8_t axis = 0;
    uint64_t bits = 0;      // of a constant
    bool keeps_row = false; // wgmma writes it, some time after
    uint32_t offset = 0;    // of its row, once there
};

/** An operand of an instruction. */
struct Use {
    uint32_t slot;
    bool reads, writes;
};

struct Program {
    PtxKernel kernel;
    std::vector<Instruction> code; // one a statement, and an exit after the last
    std::vector<Slot> slots;
    std::vector<Use> uses;
    std::vector<uint32_t> rows;     // of `uses`, one each
    uint32_t register_bytes = 0;    // of a warp
    std::vector<uint8_t> constants; // how a warp's registers begin
    uint64_t local_bytes = 0;       // of a thread
    uint64_t static_shared = 0;     // of a block
    uint64_t shared_align = 16;     // of the dynamic shared memory that follows
    bool shares_registers = true;   // registers that aren't live together may share a row
    bool has_wgmma = false;
};

} // namespace attune::emulator
