#include "cache_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compare.h"
#include "half.h"

namespace attune::test {

namespace {

Result<AttentionPlan> plan_of(const CacheSetting &s) {
    AttentionDesc desc;
    desc.dtype = s.dtype, desc.cache_dtype = s.cache_dtype, desc.head_dim = s.dim, desc.value_dim = s.value_dim;
    desc.mask = s.mask, desc.score = s.score, desc.position = s.position, desc.schedule = s.schedule, desc.device = s.device;
    if (s.kernel) desc.kernel = s.kernel, desc.mask = desc.score = "none";
    return AttentionPlan::create(desc);
}

std::vector<int> memory_order(const CacheSetting &s) { return s.tokens_first ? std::vector<int>{0, 2, 1, 3} : std::vector<int>{}; }

/** A row as int8, by the definition: x over max |x| / 127, to nearest, ties to even. */
void quantise(std::vector<double> &x, float &scale) {
    float largest = 0;
    bool finite = true;
    for (const double value : x) {
        finite = finite && std::isfinite(value);
        largest = std::max(largest, static_cast<float>(std::fabs(value)));
    }
    scale = finite ? largest / 127.0f : NAN;
    for (double &value : x)
        value = finite && scale > 0 ? std::nearbyint(static_cast<float>(value) / scale) : 0;
}

Tolerance wider_by(double absolute, Tolerance tolerance) {
    tolerance.absolute += absolute;
    return tolerance;
}

} // namespace

CacheModel::CacheModel(const CacheSetting &s, Random &random)
    : lengths(static_cast<size_t>(s.batch), 0), setting_(s), random_(random), plan_(plan_of(s)), length_numbers_({s.batch}),
      records_(static_cast<size_t>(s.batch)) {
    const int64_t columns = s.page_size > 0 ? s.capacity / s.page_size : 1, size = s.page_size > 0 ? s.page_size : s.capacity;
    const int64_t pages = s.page_size > 0 ? s.batch * columns + 3 : s.batch;
    for (int side : {0, 1}) {
        pools_[side] = TypedTensor(s.cache_dtype, {pages, s.key_heads, size, side == 0 ? s.dim : s.value_dim}, memory_order(s));
        scales_[side] =
            TypedTensor(ATTUNE_F32, {pages, s.key_heads, size}, s.tokens_first ? std::vector<int>{0, 2, 1} : std::vector<int>{});
        scale_views_[side] = scales_[side].view();
    }
    std::vector<int64_t> order(static_cast<size_t>(pages));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; i--)
        std::swap(order[i - 1], order[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
    table_ = Tensor<int64_t>({s.batch, columns});
    size_t next = 0;
    table_.each([&](int64_t &page) { page = order[next++]; });
    table_view_ = table_.view();
    for (Record &record : records_)
        for (auto &heads : record.heads)
            heads.resize(static_cast<size_t>(s.key_heads));
}

void CacheModel::draw(int64_t queries, int64_t new_tokens) {
    const CacheSetting &s = setting_;
    q = Tensor<float>({s.batch, s.query_heads, queries, s.dim}), k = Tensor<float>({s.batch, s.key_heads, new_tokens, s.dim});
    v = Tensor<float>({s.batch, s.key_heads, new_tokens, s.value_dim});
    for (const Tensor<float> &tensor : {q, k, v}) {
        random_.fill_normal(tensor);
        if (s.dtype == ATTUNE_F32) continue;
        tensor.each([&](float &value) { value = static_cast<float>(round_to(s.dtype, static_cast<double>(value))); });
    }
}

void CacheModel::shorten(const std::vector<int64_t> &to) {
    lengths = to;
    for (size_t b = 0; b < to.size(); b++)
        for (auto &heads : records_[b].heads)
            for (auto &rows : heads)
                rows.resize(static_cast<size_t>(to[b]));
    shortened_ = true;
}

attune_cache CacheModel::cache_arguments() {
    for (size_t b = 0; b < lengths.size(); b++)
        length_numbers_(static_cast<int64_t>(b)) = static_cast<int32_t>(lengths[b]);
    attune_cache cache;
    attune_cache_init(&cache);
    cache.k = pools_[0].view(), cache.v = pools_[1].view(), cache.lengths = length_numbers_.view(), cache.ring = setting_.ring;
    if (setting_.page_size > 0) cache.block_table = &table_view_;
    if (setting_.cache_dtype == ATTUNE_I8) cache.k_scale = &scale_views_[0], cache.v_scale = &scale_views_[1];
    return cache;
}

CacheStep CacheModel::step(bool weights) {
    const CacheSetting &s = setting_;
    CacheStep step;
    if (!plan_.ok()) return {plan_.status(), {}, {}, {}};
    const TypedTensor queries(s.dtype, q), keys(s.dtype, k), values(s.dtype, v);
    step.out = TypedTensor(s.dtype, {s.batch, s.query_heads, q.extent[2], s.value_dim});
    step.lse = Tensor<float>({s.batch, s.query_heads, q.extent[2]});
    step.weights = Tensor<float>({s.batch, s.query_heads, q.extent[2], s.capacity});
    // Entries of the table that no token needs are no pages.
    for (int64_t b = 0; s.page_size > 0 && b < s.batch; b++)
        for (int64_t p = 0; p < table_.extent[1]; p++) {
            const bool needed = p * s.page_size < lengths[static_cast<size_t>(b)] + k.extent[2];
            if ((table_(b, p) >= 0) != needed) table_(b, p) = -1 - table_(b, p);
        }
    const attune_cache cache = cache_arguments();
    const attune_tensor lse = step.lse.view(), all_weights = step.weights.view();
    AttentionArgs args(queries.view(), keys.view(), values.view(), step.out.view());
    args.cache = &cache, args.lse = &lse;
    Tensor<int32_t> of_keys, of_queries;
    attune_tensor of_keys_view, of_queries_view;
    if (s.document) {
        of_keys = documents<int32_t>(0, s.capacity), of_queries = Tensor<int32_t>({s.batch, q.extent[2]});
        for (int64_t b = 0; b < s.batch; b++)
            for (int64_t i = 0; i < q.extent[2]; i++)
                of_queries(b, i) = s.document(lengths[static_cast<size_t>(b)] + k.extent[2] - q.extent[2] + i);
        of_keys_view = of_keys.view(), of_queries_view = of_queries.view();
        args.documents = &of_keys_view, args.query_documents = &of_queries_view;
    }
    if (weights) args.weights = &all_weights;
    step.status = s.run ? s.run(plan_.value(), args) : plan_->run(args);
    if (step.status.ok()) record_new_tokens();
    return step;
}

CacheModel::Row CacheModel::row_of(const Tensor<float> &x, int64_t item, int64_t head, int64_t token) const {
    Row row = {{}, 1};
    for (int64_t d = 0; d < x.extent[3]; d++)
        row.values.push_back(static_cast<double>(x(item, head, token, d)));
    if (setting_.cache_dtype == ATTUNE_I8) quantise(row.values, row.scale);
    return row;
}

void CacheModel::record_new_tokens() {
    for (int64_t b = 0; b < setting_.batch; b++) {
        for (int64_t h = 0; h < setting_.key_heads; h++)
            for (int64_t t = 0; t < k.extent[2]; t++) {
                records_[static_cast<size_t>(b)].heads[0][static_cast<size_t>(h)].push_back(row_of(k, b, h, t));
                records_[static_cast<size_t>(b)].heads[1][static_cast<size_t>(h)].push_back(row_of(v, b, h, t));
            }
        lengths[static_cast<size_t>(b)] += k.extent[2];
    }
}

Tensor<float> CacheModel::recorded(int64_t item, int side) const {
    const auto &heads = records_[static_cast<size_t>(item)].heads[side];
    const int64_t width = side == 0 ? setting_.dim : setting_.value_dim;
    const Tensor<float> all({1, setting_.key_heads, lengths[static_cast<size_t>(item)], width});
    for_each_index(all.extent, [&](const Extents &i) {
        const Row &row = heads[static_cast<size_t>(i[1])][static_cast<size_t>(i[2])];
        all(0, i[1], i[2], i[3]) = static_cast<float>(row.values[static_cast<size_t>(i[3])]) * row.scale;
    });
    return all;
}

template <typename T> Tensor<T> CacheModel::documents(int64_t first, int64_t count) const {
    Tensor<T> made({1, count});
    for (int64_t t = 0; t < count; t++)
        made(0, t) = setting_.document(first + t);
    return made;
}

AttentionProblem CacheModel::problem_of(int64_t item) const {
    AttentionProblem p;
    p.q = q.item(item), p.k = recorded(item, 0), p.v = recorded(item, 1), p.mask = setting_.mask;
    p.key_lengths = {p.k.extent[2]}, p.alibi = setting_.score == "alibi";
    p.offset = p.k.extent[2] - p.q.extent[2];
    if (setting_.document)
        p.documents = documents<int64_t>(0, p.k.extent[2]), p.query_documents = documents<int64_t>(*p.offset, p.q.extent[2]);
    return p;
}

Extents CacheModel::place_of(int64_t item, int64_t head, int64_t token) const {
    const int64_t at = token % setting_.capacity, size = pools_[0].extents()[2];
    return {setting_.page_size > 0 ? table_(item, at / size) : item, head, at % size};
}

int64_t CacheModel::tokens_left(int64_t item) const { return std::min(lengths[static_cast<size_t>(item)], setting_.capacity); }

void CacheModel::expect_cache_holds_the_record() const {
    size_t wrong = 0, held = 0;
    for (int64_t b = 0; b < setting_.batch; b++)
        for (int64_t h = 0; h < setting_.key_heads; h++)
            for (int64_t back = 1; back <= tokens_left(b); back++)
                for (int side : {0, 1}) {
                    const int64_t token = lengths[static_cast<size_t>(b)] - back;
                    const Row &row = records_[static_cast<size_t>(b)].heads[side][static_cast<size_t>(h)][static_cast<size_t>(token)];
                    Extents place = place_of(b, h, token);
                    if (setting_.cache_dtype == ATTUNE_I8) {
                        const double scale = scales_[side].get(place);
                        wrong += scale != static_cast<double>(row.scale) && !(std::isnan(scale) && std::isnan(row.scale));
                    }
                    place.push_back(0);
                    for (const double value : row.values) {
                        const double kept = pools_[side].get(place);
                        wrong += kept != value && !(std::isnan(kept) && std::isnan(value));
                        held++, place[3]++;
                    }
                }
    EXPECT_EQ(wrong, 0u) << "elements of the cache that aren't what was appended";
    if (shortened_) return; // what was taken off is still there
    size_t written = 0;
    for (const TypedTensor &pool : pools_)
        for_each_index(pool.extents(), [&](const Extents &index) { written += !pool.untouched(index); });
    // A byte of i8 may be -1 by itself.
    if (setting_.cache_dtype != ATTUNE_I8) {
        EXPECT_EQ(written, held) << "elements written";
    } else {
        EXPECT_LE(written, held) << "elements written";
    }
}

void CacheModel::expect_right_step(int64_t queries, int64_t new_tokens) {
    draw(queries, new_tokens);
    const CacheStep got = step();
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    expect_cache_holds_the_record();
    const std::vector<double> out = got.out.values(), lse = to_double(got.lse);
    const size_t outputs = out.size() / lengths.size(), rows = lse.size() / lengths.size();
    for (int64_t b = 0; b < setting_.batch; b++) {
        const AttentionProblem p = problem_of(b);
        const AttentionAnswer exact = attention_in_double(p);
        Rounding rounding(p, exact);
        const double largest_v = largest_magnitude(to_double(p.v));
        const auto part = [&](const std::vector<double> &all, size_t count) {
            return std::vector<double>(all.begin() + b * static_cast<int64_t>(count), all.begin() + (b + 1) * static_cast<int64_t>(count));
        };
        // Of 16 bits weights and output are rounded to the type: in all less than two units at max |v|.
        const double half = setting_.dtype == ATTUNE_F32 ? 0 : 2 * half_ulp(setting_.dtype, largest_v);
        EXPECT_TRUE(within_rounding(rounding,
                                    [&](const RoundingError &allowed) {
                                        return agrees(part(out, outputs), exact.out, wider_by(half, twice(allowed.out, largest_v)));
                                    }))
            << "item " << b << " out";
        // Where pairs of bf16 are multiplied, and on tensor cores, the sum is that of the rounded weights: each is off by half a unit at
        // most, and so is the sum.
        const bool sum_of_rounded = setting_.dtype == ATTUNE_BF16 || (setting_.dtype == ATTUNE_F16 && setting_.device == ATTUNE_CUDA);
        const double half_of_lse = sum_of_rounded ? half_ulp(setting_.dtype, 1.0) : 0,
                     largest_lse = std::max(1.0, largest_magnitude(exact.lse));
        EXPECT_TRUE(within_rounding(rounding,
                                    [&](const RoundingError &allowed) {
                                        return agrees(part(lse, rows), exact.lse, wider_by(half_of_lse, twice(allowed.lse, largest_lse)),
                                                      0);
                                    }))
            << "item " << b << " lse";
    }
}

void expect_right_steps(const CacheSetting &s, Random &random, const std::vector<std::pair<int64_t, int64_t>> &steps) {
    SCOPED_TRACE("capacity " + std::to_string(s.capacity) + " pages of " + std::to_string(s.page_size) + " mask " + s.mask);
    CacheModel cache(s, random);
    for (const auto &[queries, tokens] : steps)
        cache.expect_right_step(queries, tokens);
}

} // namespace attune::test
