// Which keys a query attends under a textual mask: read from the text's tree, apart from the runtime, whose results are
// checked with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/mask.h"

namespace attune::bench {

/** Keys begin <= j < end. */
struct Interval {
    int64_t begin, end;
};

class MaskRows {
public:
    /** `mask` must parse, without named parameters. Terms that name no alignment stand at offset 0. */
    MaskRows(const std::string &mask, int64_t queries, int64_t keys);

    /** The keys query `i` attends: sorted, disjoint, none empty. */
    std::vector<Interval> keys(int64_t i) const { return of(mask_.root, i); }

private:
    using Intervals = std::vector<Interval>;
    Intervals of(const text::MaskNode &node, int64_t i) const;
    Intervals term(const text::MaskNode &node, int64_t i) const;
    Intervals complement(const Intervals &from) const;

    text::Mask mask_;
    int64_t queries_, keys_;
};

} // namespace attune::bench
