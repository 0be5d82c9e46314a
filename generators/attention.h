// A mask, a score or a position of your own, for attune_add_kernel SOURCE. Derive from AttentionGenerator, override what you want, and
// register it:
//
//     class Dilated : public attune::generators::AttentionGenerator<Dilated> {
//     public:
//         std::optional<attune::dsl::Mask> compiled_mask() {
//             return attune::dsl::Mask([this](const attune::dsl::Cell &c) { return (c.query + offsets(c.batch) - c.key) % 4 == 0; });
//         }
//     };
//     HALIDE_REGISTER_GENERATOR(Dilated, dilated)
//
// A cell's query counts the rows of q from 0; it stands at query + offsets(batch) among the keys, which differs in decoding, over a cache
// and wherever an offset is given. A row that compiled_positioning() is asked about says where it stands itself (`position`).
//
// A mask or a score may read what a call brings: offsets(batch), lengths(batch) (M where no key lengths are given), params(i), the i-th of
// the names after PARAMS, query_documents(token, batch), key_documents(token, batch) and attend(key, query, head, batch).
//
// One source serves CPUs and GPUs: attune_add_kernel compiles it for the DEVICE and SCHEDULE of its call.
#pragma once

#if defined(ATTUNE_CUDA_FRAGMENTS)
#include "generators/cuda/attention_fragments.h"
#elif defined(ATTUNE_CUDA_SIMT)
#include "generators/cuda/attention_simt.h"
#else
#include "generators/attention_cpu.h"
#endif

namespace attune::generators {

#if defined(ATTUNE_CUDA_FRAGMENTS)
template <typename T> using AttentionGenerator = FragmentAttentionGenerator<T>;
#elif defined(ATTUNE_CUDA_SIMT)
template <typename T> using AttentionGenerator = SimtAttentionGenerator<T>;
#else
template <typename T> using AttentionGenerator = CpuAttentionGenerator<T>;
#endif

} // namespace attune::generators
