// Attention on the tensor cores of capability 9.0 by wgmma: as mma, but for the products, which four warps do together, with keys and
// values, and of the scores the queries, from shared memory. Two warpgroups share each key and value: while one takes the weights of its
// scores the other multiplies.
#include "schedules/cuda/block_sizes.h"
#include "schedules/cuda/fragments.h"

namespace attune::schedules {

// Heads of 64 leave registers for two blocks, which need not wait for one another. A block of others has all of a multiprocessor's, and at
// most 227 KB of shared memory: wide heads leave room for fewer keys a step.
dsl::FragmentBlocking wgmma_blocking(int head_dim) {
    dsl::FragmentBlocking blocking;
    blocking.head_dim = blocking.value_dim = head_dim;
    blocking.warpgroups = true, blocking.warps = wgmma_block(head_dim).queries / 16;
    blocking.keys = wgmma_block(head_dim).keys;
    blocking.blocks = wgmma_shares(head_dim) ? 2 : 1;
    return blocking;
}

} // namespace attune::schedules
