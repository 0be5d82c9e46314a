// What a generator for CUDA may say of its kernels beside the pipeline.
#pragma once

namespace attune::generators {

/** A generator of kernels whose thread blocks are to share a multiprocessor, if shared memory lets them. */
class SharesMultiprocessor {
public:
    virtual ~SharesMultiprocessor() = default;
    /** How many thread blocks a multiprocessor must have registers for, 1 or more; of several each has copies come before its products. For
     * generators with all parameters set. */
    virtual int blocks_per_multiprocessor() const { return 1; }
    /** Of kernels whose blocks differ in size: as many threads as it must have registers for, or one block's. */
    virtual int threads_per_multiprocessor() const { return 0; }
};

} // namespace attune::generators
