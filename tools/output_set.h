// The output files of one command: all of them appear, whole, or none does.
#pragma once

#include <string>
#include <vector>

#include "array.h"

namespace attune::tools {

/** Writes each array or text to a temporary file beside its target, and puts them there only when every one is on the disk. */
class OutputSet {
public:
    /** Checks that `path`, given by `option`, is a place where a file can be made and differs from the other outputs.
     * Throws CommandError (exit 2) otherwise. The array is filled by the caller before commit() and must outlive it. */
    void add(const std::string &option, const std::string &path, const Array &array);
    /** The same for a file that holds the text as it is. */
    void add(const std::string &option, const std::string &path, const std::string &text);

    /** Writes all, and puts them in place. On an error no temporary file is left, and what was there before still is. */
    void commit();

private:
    struct Output {
        std::string option, path, target; // target: path with symbolic links followed
        const Array *array;               // one of the two
        const std::string *text;
    };
    void add(const std::string &option, const std::string &path, const Array *array, const std::string *text);

    std::vector<Output> outputs_;
};

} // namespace attune::tools
