// One block of threads under execution: its warps, shared and local memory, and barriers.
#pragma once

#include <memory>

#include "lanes.h"
#include "memory.h"
#include "proxies.h"
#include "races.h"

namespace attune::emulator {

struct Settings {
    bool reverse_warps = false; // run the warps last to first
    bool races = false;         // look for races on shared memory
    bool uninitialised = false; // look for reads of registers never written; needs a program whose registers share no rows
};

/** What all blocks of a launch have in common. */
struct Launch {
    const Program *program = nullptr;
    uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    uint32_t dynamic_shared = 0;
    std::vector<uint8_t> parameters;
    std::shared_ptr<const AllocationTable> memory;
    Settings settings;

    uint32_t threads() const { return block[0] * block[1] * block[2]; }
};

/** Where the bytes that a warp's lanes address lie in this process. */
struct Places {
    uint8_t *at[warp_size];
};

class Block {
public:
    explicit Block(const Launch &launch);
    Block(const Block &) = delete;

    /** Runs the block of this place in the grid to its end. Throws Error. The object may run others after. */
    void run(const uint32_t place[3]);
    uint64_t executed() const;

    // What handlers call.
    /** Places of `bytes` bytes a lane, at the address in row `row`, a multiple of `alignment` (a power of two). */
    void resolve(Warp &w, const Instruction &x, uint32_t row, uint32_t bytes, uint32_t alignment, Access access, Places &places);
    /** 16 bytes of shared memory, read by the asynchronous proxy. */
    const uint8_t *read_by_proxy(const Warp &w, uint64_t address);
    /** A warp's fence.proxy.async. */
    void fence_proxy(const Warp &w);
    /** A warp issues a product of matrices with these descriptors. */
    void issue_product(Warp &w, const Instruction &x, uint64_t a, uint64_t b);
    /** Tells the race check of an access to a place in shared memory that was resolved before. */
    void note_shared(const Warp &w, const uint8_t *at, uint32_t bytes, Access access);
    const Launch &launched() const { return launch; }
    /** A warp comes to a barrier. It waits there unless it only arrives. */
    void arrive(Warp &w, const Instruction &x, uint32_t id, uint32_t threads, bool waits);

private:
    enum class State : uint8_t { ready, waiting, done };
    struct Reader {
        Warp *warp;
        const Instruction *instruction;
    };
    struct Barrier {
        uint32_t arrived = 0, waiting = 0, expected = 0;
        uint32_t true_lanes = 0, lanes = 0; // of bar.red
        std::vector<Reader> readers;
        int line = 0;
    };
    static constexpr uint32_t barriers_per_block = 16;

    const Launch &launch;
    const Program &program;
    uint32_t place[3] = {0, 0, 0};
    std::vector<Warp> warps;
    std::vector<State> states;
    std::vector<uint8_t> register_memory, shared, local;
    Barrier barriers[barriers_per_block];
    std::unique_ptr<RaceCheck> races;
    std::unique_ptr<ProxyCheck> proxies;        // of kernels with wgmma
    std::unique_ptr<WarpgroupCheck> warpgroups; // likewise
    Allocation last{0, 0};

    void start();
    void start_warp(Warp &w);
    void fill_special(Warp &w, const Slot &slot);
    void run_warps();
    void run_warp(Warp &w);
    bool control(Warp &w, const Instruction &x);
    void branch(Warp &w, const Instruction &x);
    bool leave(Warp &w);
    bool hold(Warp &w);
    void resume(Warp &w);
    void reconverge(Warp &w);
    void release(Barrier &barrier);
    void check_defined(Warp &w, const Instruction &x) const;
    void gather(Warp &w, const Instruction &x, uint32_t row, uint64_t *at) const;
    void resolve_global(const Warp &w, const uint64_t *at, uint32_t bytes, Places &places);
    void resolve_shared(const Warp &w, const uint64_t *at, uint32_t bytes, Access access, Places &places);
    void resolve_local(const Warp &w, const uint64_t *at, uint32_t bytes, Places &places);
    int line_of(const Warp &w) const;
    void note_shared(const Warp &w, int line, const uint8_t *at, uint32_t bytes, Access access);
    Error describe(const Warp &w, const Error &error) const;
    [[noreturn]] void fail_waiting() const;
};

} // namespace attune::emulator
