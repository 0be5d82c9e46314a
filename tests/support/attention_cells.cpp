#include "attention_cells.h"

#include <cmath>
#include <limits>

namespace attune::test {
namespace {

int64_t offset_of(const AttentionProblem &p, int64_t b) {
    if (p.alignment == "top_left") return 0;
    if (p.alignment == "bottom_right") return p.keys() - p.queries();
    return p.offsets.empty() ? p.offset.value_or(0) : p.offsets[b];
}

bool names(const AttentionProblem &p, const char *term) { return p.mask.find(term) != std::string::npos; }

/** Ids of one batch item's tokens. */
std::vector<int64_t> ids_of(const Tensor<int64_t> &ids, int64_t b) { return ids.item(ids.extent[0] > 1 ? b : 0).values(); }

std::vector<int64_t> ids_from_starts(const std::vector<int64_t> &starts) {
    std::vector<int64_t> ids;
    for (size_t s = 0; s + 1 < starts.size(); s++)
        ids.insert(ids.end(), starts[s + 1] - starts[s], static_cast<int64_t>(s));
    return ids;
}

} // namespace

Cells::Cells(const AttentionProblem &problem, int64_t b, int64_t h) : problem_(problem), b_(b), h_(h), offset_(offset_of(problem, b)) {
    if (problem.boolean_mask) boolean_ = problem.boolean_mask->broadcast(full());
    if (problem.bias) bias_ = problem.bias->broadcast(full());
    attended_ = attended_cells();
}

MaskData Cells::data() const {
    MaskData data;
    if (!problem_.key_lengths.empty()) data.length = problem_.key_lengths[b_];
    if (problem_.documents) data.key_documents = ids_of(*problem_.documents, b_);
    if (!problem_.document_starts.empty()) data.key_documents = ids_from_starts(problem_.document_starts);
    data.query_documents = problem_.query_documents ? ids_of(*problem_.query_documents, b_) : data.key_documents;
    if (problem_.block_map) {
        const Tensor<uint8_t> &map = *problem_.block_map;
        const Tensor<uint8_t> blocks = map.broadcast({problem_.batch(), problem_.query_heads(), map.extent[2], map.extent[3]});
        data.block = [blocks, b = b_, h = h_](int64_t row, int64_t column) { return blocks(b, h, row, column) != 0; };
    }
    data.tensor = [boolean = boolean_, b = b_, h = h_](int64_t i, int64_t j) { return boolean(b, h, i, j) != 0; };
    return data;
}

std::vector<char> Cells::attended_cells() const {
    std::optional<int64_t> offset = problem_.offset;
    if (!problem_.offsets.empty()) offset = problem_.offsets[b_];
    const CellPredicate text = mask_from_text(problem_.mask, problem_.queries(), problem_.keys(), offset, data());
    const bool by_length = !names(problem_, "lengths") && !problem_.key_lengths.empty();
    const bool by_tensor = !names(problem_, "tensor") && problem_.boolean_mask;
    const int64_t length = by_length ? problem_.key_lengths[b_] : problem_.keys();
    std::vector<char> attended;
    attended.reserve(problem_.queries() * problem_.keys());
    for (int64_t i = 0; i < problem_.queries(); i++)
        for (int64_t j = 0; j < problem_.keys(); j++)
            attended.push_back(text(i, j) && j < length && (!by_tensor || boolean_(b_, h_, i, j) != 0) &&
                               bias(i, j) != -std::numeric_limits<float>::infinity());
    return attended;
}

template <typename Real> std::vector<Real> positioned_row(const AttentionProblem &p, bool of_queries, int64_t b, int64_t h, int64_t n) {
    const float *x = of_queries ? &p.q(b, h, n, 0) : &p.k(b, h, n, 0);
    std::vector<Real> row(x, x + p.dim());
    const bool shared = p.key_positions.empty() && p.queries() == p.keys();
    const std::vector<int64_t> &given = of_queries || shared ? p.positions : p.key_positions;
    const int64_t position = !given.empty() ? given[n] : of_queries ? n + offset_of(p, b) : n;
    for (int64_t d = 0; p.learned && d < p.dim(); d++)
        row[d] += (*p.learned)(position, d);
    if (!p.rotary) return row;
    const int64_t width = p.rotary->width > 0 ? p.rotary->width : p.dim();
    for (int64_t pair = 0; pair < width / 2; pair++) {
        const long double angle = position * std::pow(static_cast<long double>(p.rotary->base), -2.0L * pair / width);
        const int64_t first = p.rotary->interleaved ? 2 * pair : pair, second = p.rotary->interleaved ? first + 1 : pair + width / 2;
        const auto cosine = static_cast<Real>(std::cos(angle)), sine = static_cast<Real>(std::sin(angle));
        const Real u = row[first], v = row[second];
        row[first] = u * cosine - v * sine, row[second] = v * cosine + u * sine;
    }
    return row;
}
template std::vector<float> positioned_row(const AttentionProblem &, bool, int64_t, int64_t, int64_t);
template std::vector<double> positioned_row(const AttentionProblem &, bool, int64_t, int64_t, int64_t);

} // namespace attune::test
