// A model's folder: its config.json and its weights, in one .safetensors file or in several with an index.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "files.h"
#include "safetensors.h"

namespace gpt {

class Checkpoint {
public:
    /** Opens `folder`/model.safetensors, or where there is none each tensor from the file that `folder`/model.safetensors.index.json names
     * for it, and `folder`/config.json. */
    explicit Checkpoint(const std::filesystem::path &folder);

    const nlohmann::json &config() const { return config_; }

    /** An integer, of 1 or more, that the configuration must have. */
    int64_t size(const char *name) const;

    bool has(const std::string &name) const { return tensors_.count(name) != 0; }

    /** The tensor of that name as f32. Throws an Error if there is none, or if it isn't of that shape. */
    std::vector<float> read(const std::string &name, const std::vector<int64_t> &shape) const;

private:
    StoredTensors parse(const std::filesystem::path &path);

    nlohmann::json config_;
    std::vector<MappedFile> files_;
    StoredTensors tensors_; // which point into files_
};

} // namespace gpt
