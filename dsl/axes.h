// The names of the axes that declarations and schedules share.
#pragma once

#include <Halide.h>

namespace attune::dsl::axes {

inline const Halide::Var dim{"dim"};     // channel within a head
inline const Halide::Var token{"token"}; // query or key position
inline const Halide::Var head{"head"};   // query head
inline const Halide::Var batch{"batch"}; // batch item

// Attention cuts the queries into tiles of rows and tiles into tasks, the keys into blocks, and blocks into panels of lanes.
inline const Halide::Var row{"row"};     // query within a tile
inline const Halide::Var tile{"tile"};   // tile of queries
inline const Halide::Var task{"task"};   // tiles that share one copy of each key block
inline const Halide::Var key{"key"};     // key within a block
inline const Halide::Var lane{"lane"};   // key within a panel
inline const Halide::Var panel{"panel"}; // panel within a block
inline const Halide::Var block{"block"}; // block of keys

} // namespace attune::dsl::axes
