// The cache of `attune run attention --cache FOLDER`: one .npy file a tensor.
#pragma once

#include <string>

#include "array.h"
#include "attention_files.h"
#include "device.h"
#include "npy.h"
#include "output_set.h"

namespace attune::tools {

/** What FOLDER holds: k.npy and v.npy, lengths.npy and, where they are there, block_table.npy, k_scale.npy and v_scale.npy. */
class CacheFiles {
public:
    /** Reads the files. Throws CommandError naming the one that is wrong; what the runtime checks is left to it. */
    CacheFiles(const std::string &folder, bool ring, const AttentionInputs &inputs);
    CacheFiles(const CacheFiles &) = delete; // the view points into it
    CacheFiles &operator=(const CacheFiles &) = delete;

    const attune_cache *view() const { return &cache_; }
    /** The view where the call uses it. Throws CommandError where a number is wrong that a call on a GPU can't look at. */
    const attune_cache *on_device(DeviceTensors &tensors, int64_t new_tokens);
    attune_type type() const { return k_.type; }
    int64_t capacity() const; // of an item, in tokens

    /** Declares the files that a run changes as outputs of the command. */
    void add_outputs(OutputSet &outputs) const;
    /** Counts the tokens that were appended. */
    void lengthen(int64_t tokens);

private:
    std::string path(const char *name) const;
    void check_numbers(int64_t new_tokens) const;
    /** Reads an optional file of one of the types and of this rank; nullptr where there is none. */
    const attune_tensor *read(const char *name, std::initializer_list<attune_type> types, int rank, OptionalArray &to);

    std::string folder_;
    Array k_, v_, lengths_;
    OptionalArray table_, k_scale_, v_scale_;
    attune_cache cache_, device_cache_;
};

} // namespace attune::tools
