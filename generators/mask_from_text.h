// The textual mask language as Halide predicates.
#pragma once

#include <optional>
#include <string>

#include <Halide.h>

#include "dsl/mask.h"

namespace attune::generators {

/** What the terms of a mask read. Only the Funcs of terms that the text names need be defined. */
struct MaskData {
    Halide::Func offsets;         // i32 (batch): key position of query 0, for terms that name no alignment
    Halide::Func params;          // i32 (index): the named parameters, in order of appearance
    Halide::Func lengths;         // i32 (batch), for lengths
    Halide::Func query_documents; // i32 (query, batch), for documents
    Halide::Func key_documents;   // i32 (key, batch)
    Halide::Func block_map;       // u8 (key block, query block, head, batch), for blocks
    Halide::Func attend;          // u8 (key, query, head, batch), for tensor
    Halide::Func document_ranges; // of documents, where there are some: as dsl::documents takes them
};

/** The mask of the text; none for "none" or "". `queries` and `keys` are N and M. Throws Halide::CompileError with a sentence that gives
 * the column on a bad text. */
std::optional<dsl::Mask> mask_from_text(const std::string &text, const Halide::Expr &queries, const Halide::Expr &keys,
                                        const MaskData &data);

} // namespace attune::generators
