#include "checkpoint.h"

#include <set>

#include <fmt/ranges.h>

#include "error.h"

namespace gpt {

namespace {

/** The files of a checkpoint in several: each once. */
std::set<std::string> shards_of(const std::filesystem::path &index) {
    const nlohmann::json json = read_json(index);
    const auto map = json.find("weight_map");
    require(map != json.end() && map->is_object(), "{} has no object \"weight_map\"", index.string());
    std::set<std::string> shards;
    for (const nlohmann::json &shard : *map) {
        require(shard.is_string(), "{}: \"weight_map\" must name a file for each tensor", index.string());
        const auto name = shard.get<std::string>();
        require(std::filesystem::path(name).filename() == name, "{} names the file \"{}\"; it must lie beside the index", index.string(),
                name);
        shards.insert(name);
    }
    return shards;
}

} // namespace

Checkpoint::Checkpoint(const std::filesystem::path &folder) : config_(read_json(folder / "config.json")) {
    const std::filesystem::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
    if (!std::filesystem::exists(single) && std::filesystem::exists(index))
        for (const std::string &shard : shards_of(index))
            add(folder / shard);
    else
        add(single);
}

void Checkpoint::add(const std::filesystem::path &path) {
    files_.emplace_back(path);
    tensors_.merge(parse_safetensors(files_.back().bytes(), path.string()));
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
