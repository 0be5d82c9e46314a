#include "checkpoint.h"

#include <map>

#include <fmt/ranges.h>

#include "error.h"

namespace gpt {

namespace {

/** Of a checkpoint in several files, which tensors are to be taken from each. */
std::map<std::string, std::vector<std::string>> shards_of(const std::filesystem::path &index) {
    const nlohmann::json json = read_json(index);
    const auto map = json.find("weight_map");
    require(map != json.end() && map->is_object(), "{} has no object \"weight_map\"", index.string());
    std::map<std::string, std::vector<std::string>> shards;
    for (const auto &[tensor, shard] : map->items()) {
        require(shard.is_string(), "{}: \"weight_map\" must name a file for each tensor", index.string());
        const auto name = shard.get<std::string>();
        require(std::filesystem::path(name).filename() == name, "{} names the file \"{}\"; it must lie beside the index", index.string(),
                name);
        shards[name].push_back(tensor);
    }
    return shards;
}

} // namespace

Checkpoint::Checkpoint(const std::filesystem::path &folder) : config_(read_json(folder / "config.json")) {
    const std::filesystem::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
    if (is_there(single) || !is_there(index)) {
        tensors_ = parse(single);
        return;
    }
    for (const auto &[shard, names] : shards_of(index)) {
        const StoredTensors stored = parse(folder / shard);
        for (const std::string &name : names) {
            const auto found = stored.find(name);
            require(found != stored.end(), "{} says that {} has the tensor {}, which it hasn't", index.string(), shard, name);
            tensors_.insert(*found);
        }
    }
}

StoredTensors Checkpoint::parse(const std::filesystem::path &path) {
    files_.emplace_back(path);
    return parse_safetensors(files_.back().bytes(), path.string());
}

int64_t Checkpoint::size(const char *name) const {
    const int64_t size = value_or<int64_t>(config_, name, 0);
    require(size >= 1 && size <= INT32_MAX, "config.json: \"{}\" is {}; it must be 1 to 2^31 - 1", name, size);
    return size;
}

std::vector<float> Checkpoint::read(const std::string &name, const std::vector<int64_t> &shape) const {
    const auto found = tensors_.find(name);
    require(found != tensors_.end(), "the checkpoint has no tensor {}", name);
    require(found->second.shape == shape, "{} has the shape [{}]; by config.json it must be [{}]", name,
            fmt::join(found->second.shape, ", "), fmt::join(shape, ", "));
    return to_f32(found->second, name);
}

} // namespace gpt
