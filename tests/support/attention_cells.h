// The parts of the attention oracle that the numbers q, k and v have no say in: where a query may attend, and what biases its scores.
#pragma once

#include "attention_oracle.h"
#include "mask_text.h"

namespace attune::test {

/** Where query rows of one (batch, head) stand and may attend. */
class Cells {
public:
    Cells(const AttentionProblem &problem, int64_t b, int64_t h);

    bool attended(int64_t i, int64_t j) const { return attended_[i * problem_.keys() + j] != 0; }
    /** The additive tensor's value. */
    float bias(int64_t i, int64_t j) const { return problem_.bias ? bias_(b_, h_, i, j) : 0.0f; }
    /** The key's position minus the query's, by the alignment of alibi and t5. */
    int64_t relative(int64_t i, int64_t j) const { return j - i - offset_; }

private:
    MaskData data() const;
    std::vector<char> attended_cells() const;
    Extents full() const { return {problem_.batch(), problem_.query_heads(), problem_.queries(), problem_.keys()}; }

    const AttentionProblem &problem_;
    const int64_t b_, h_;
    int64_t offset_ = 0;
    Tensor<uint8_t> boolean_;
    Tensor<float> bias_;
    std::vector<char> attended_; // [N,M]
};

/** Row n of q (of_queries) or k with its position, the problem's rotary embedding or learned row, in float or double arithmetic. */
template <typename Real>
std::vector<Real> positioned_row(const AttentionProblem &problem, bool of_queries, int64_t b, int64_t h, int64_t n);

} // namespace attune::test
