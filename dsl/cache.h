// New tokens into a cache, and what attention over it reads of its lengths, on a device: the runtime can't look at numbers there.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** Token t of item b takes the place start(b) + t of its pages: the token (start + t) mod S of page `page`((start + t) / S, b). */
struct CacheWriteInputs {
    Halide::Func update;                         // any type, (dim, token, head, batch)
    Halide::Expr channels, tokens, heads, items; // of it
    Halide::Func start;                          // i32 (batch)
    Halide::Func page;                           // i32 (nth page, batch), of any nth that isn't negative
    Halide::Expr page_size, pages, capacity;     // S, how many pages there are, and the tokens that an item has room for
    Halide::Expr circular;                       // i32: not 0 where places count modulo the capacity
};

struct CacheWrite {
    Halide::Func cache; // (dim, token, head, page): what has no place in it is left out, the rest of it left as it is
    Halide::RDom written;
};

CacheWrite cache_write(const CacheWriteInputs &inputs);

/** What attention over a cache of `capacity` tokens an item reads once `new_tokens` have been appended, and `queries` are its last. */
struct CacheCounts {
    Halide::Func result; // i32 (batch, which): the number of keys, and the key position of query 0
};

/** `lengths`: i32 (batch), the tokens before; taken for 0 or the capacity beyond these. */
CacheCounts cache_counts(const Halide::Func &lengths, const Halide::Expr &new_tokens, const Halide::Expr &queries,
                         const Halide::Expr &capacity);

} // namespace attune::dsl
