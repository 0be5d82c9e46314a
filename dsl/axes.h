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

// Decoding has a row for each query and query head of a key/value head, and cuts the keys into chunks of panels, which are dealt to
// several streams; channels are the lanes of a vector.
inline const Halide::Var chunk{"chunk"};     // chunk of keys
inline const Halide::Var stream{"stream"};   // panels of a chunk, one a step
inline const Halide::Var step{"step"};       // panel within a stream
inline const Halide::Var channel{"channel"}; // channel within a vector
inline const Halide::Var vector{"vector"};   // vector of channels

inline const Halide::Var pair{"pair"};     // channels that turn together
inline const Halide::Var word{"word"};     // 32 bits of packed elements
inline const Halide::Var part{"part"};     // share of a word, or of a thread
inline const Halide::Var column{"column"}; // of a matrix
inline const Halide::Var which{"which"};   // one of several numbers

} // namespace attune::dsl::axes
