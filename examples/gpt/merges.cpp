#include "merges.h"

#include <functional>
#include <queue>
#include <tuple>

namespace gpt {

namespace {

uint64_t pair_of(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

/** A list of tokens that grow together: a merged token stands in its left place, and its right place is left out. */
struct Link {
    int32_t token;
    size_t previous, next; // `none` at the ends
};
constexpr size_t none = SIZE_MAX;

/** A merge that may be made at a place, unless its tokens have changed since. */
struct Candidate {
    int32_t rank;
    size_t left;
    int32_t left_token, right_token, merged;

    bool operator>(const Candidate &other) const { return std::tie(rank, left) > std::tie(other.rank, other.left); }
};

} // namespace

void Merges::add(int32_t left, int32_t right, int32_t merged) {
    merges_.emplace(pair_of(left, right), Merge{static_cast<int32_t>(merges_.size()), merged});
}

const Merges::Merge *Merges::find(int32_t left, int32_t right) const {
    const auto found = merges_.find(pair_of(left, right));
    return found == merges_.end() ? nullptr : &found->second;
}

std::vector<int32_t> Merges::apply(const std::vector<int32_t> &tokens) const {
    std::vector<Link> links;
    for (size_t i = 0; i < tokens.size(); ++i)
        links.push_back({tokens[i], i == 0 ? none : i - 1, i + 1 == tokens.size() ? none : i + 1});
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto consider = [&](size_t left) {
        if (left == none || links[left].next == none) return;
        const int32_t a = links[left].token, b = links[links[left].next].token;
        if (const Merge *merge = find(a, b)) candidates.push({merge->rank, left, a, b, merge->merged});
    };
    for (size_t i = 0; i < links.size(); ++i)
        consider(i);
    for (; !candidates.empty();) {
        const Candidate best = candidates.top();
        candidates.pop();
        Link &left = links[best.left];
        if (left.token != best.left_token || left.next == none || links[left.next].token != best.right_token) continue;
        links[left.next].token = -1; // no candidate's token
        left.token = best.merged, left.next = links[left.next].next;
        if (left.next != none) links[left.next].previous = best.left;
        consider(left.previous), consider(best.left);
    }
    std::vector<int32_t> merged;
    for (size_t i = links.empty() ? none : 0; i != none; i = links[i].next)
        merged.push_back(links[i].token);
    return merged;
}

} // namespace gpt
