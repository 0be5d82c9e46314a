// A mask drawn: in the terminal and as an SVG file.
#pragma once

#include <string>

#include "block_grid.h"

namespace attune::tools {

/** The part of a mask that one character of a terminal shows: a cell, or as many as needed to keep within its width. */
BlockSize cells_a_character(int64_t queries, int64_t keys, int columns);

/** Columns of the terminal that standard output is, at most 100; 100 for a file or a pipe. */
int terminal_columns();

/** Whether standard output is a terminal and NO_COLOR (https://no-color.org) isn't set. */
bool colours_wanted();

/** The grid as lines of text, with the queries that begin each. */
std::string text_picture(const BlockGrid &grid, bool colours);

/** The part of a mask that one mark of the SVG picture shows: a cell where there are few, otherwise one or more blocks. */
BlockSize cells_a_mark(int64_t queries, int64_t keys, const BlockSize &block);

/** An SVG file: `marks` is what is drawn, `blocks` gives the borders and the counts below. It shows on light and dark ground. */
std::string svg_picture(const std::string &title, const BlockGrid &marks, const BlockGrid &blocks);

} // namespace attune::tools
