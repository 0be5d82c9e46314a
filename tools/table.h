// Columns of text, aligned.
#pragma once

#include <string>
#include <vector>

namespace attune::tools {

enum class Align { left, right };

struct Table {
    std::vector<std::string> heading;
    std::vector<Align> align; // one per column
    std::vector<std::vector<std::string>> rows;

    /** Prints to standard output, two blanks between columns, none at the end of a line. */
    void print() const;
};

} // namespace attune::tools
