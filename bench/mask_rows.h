// Which keys a query attends under a textual mask: read from the text's tree, apart from the runtime, whose results are
// checked with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "text/mask.h"

namespace attune::bench {

/** Keys begin <= j < end. */
struct Interval {
    int64_t begin, end;
};

class MaskRows {
public:
    /** The case's mask must parse, without named parameters, dilated, strided and blocks. Terms that name no alignment stand at offset 0.
     */
    explicit MaskRows(const Case &c);

    /** The keys query `i` attends: sorted, disjoint, none empty. */
    std::vector<Interval> keys(int64_t i) const;

private:
    using Intervals = std::vector<Interval>;
    Intervals of(const text::MaskNode &node, int64_t i) const;
    Intervals term(const text::MaskNode &node, int64_t i) const;
    Intervals complement(const Intervals &from) const;

    Case case_;
    text::Mask mask_;
    int64_t queries_, keys_;
};

} // namespace attune::bench
