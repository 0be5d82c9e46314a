// Kernels of attune_add_kernel(DEVICE cuda MASK "documents & causal"), of every schedule.
#pragma once

#include <vector>

#include "own_cuda_documents_mma_bf16_d128_kernel.h"
#include "own_cuda_documents_mma_bf16_d64_kernel.h"
#include "own_cuda_documents_simt_f16_d0_kernel.h"
#include "own_cuda_documents_simt_f32_d64_kernel.h"
#include "own_cuda_documents_split_kv_bf16_d64_kernel.h"
#include "own_cuda_documents_split_kv_f32_d64_kernel.h"
#include "own_cuda_documents_wgmma_bf16_d64_kernel.h"

namespace attune::test {

inline std::vector<const attune_kernel *> own_documents_kernels() {
    return {&own_cuda_documents_simt_f32_d64_kernel,    &own_cuda_documents_simt_f16_d0_kernel,
            &own_cuda_documents_mma_bf16_d64_kernel,    &own_cuda_documents_mma_bf16_d128_kernel,
            &own_cuda_documents_wgmma_bf16_d64_kernel,  &own_cuda_documents_split_kv_bf16_d64_kernel,
            &own_cuda_documents_split_kv_f32_d64_kernel};
}

} // namespace attune::test
