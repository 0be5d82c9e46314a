// Basic blocks and loops of a kernel.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "body.h"

namespace attune::ptx {

/** A straight run of instructions, [begin, end). */
struct Block {
    size_t begin = 0, end = 0;
    std::vector<size_t> successors, predecessors; // none of a block that can't be reached
};

/** A natural loop: the blocks from which its header is reached again without leaving it. */
struct Loop {
    size_t header = 0;
    std::vector<char> contains; // by block
    size_t blocks = 0;
};

/** The flow of control of a body, as it was when this was built. Block 0 is the entry. */
class ControlFlow {
public:
    explicit ControlFlow(const Body &body);

    const std::vector<Block> &blocks() const { return blocks_; }
    size_t block_of(size_t instruction) const { return block_of_[instruction]; }
    /** Loops with a header that no path goes around. */
    const std::vector<Loop> &loops() const { return loops_; }
    /** Whether every cycle runs through the header of a loop. */
    bool is_reducible() const { return reducible_; }
    /** The smallest loop with the block, or nullptr. */
    const Loop *innermost(size_t block) const;
    bool dominates(size_t a, size_t b) const { return dominators_[b][a]; }
    /** Blocks that are reached from `from`'s successors inside the loop, without passing the header again or `without`. */
    std::vector<char> reached(const Loop &loop, size_t from, size_t without) const;

    static constexpr size_t none = static_cast<size_t>(-1);

private:
    void split(const Body &body);
    void connect(const Body &body);
    void drop_unreachable();
    void find_dominators();
    void find_loops();
    void check_reducible();

    std::vector<Block> blocks_;
    std::vector<size_t> block_of_;
    std::vector<std::vector<char>> dominators_; // [b][a]: a dominates b
    std::vector<Loop> loops_;
    bool reducible_ = true;
};

} // namespace attune::ptx
