#include "cache_files.h"

#include <filesystem>
#include <system_error>

#include "error.h"
#include "npy.h"

namespace attune::tools {

std::string CacheFiles::path(const char *name) const { return (std::filesystem::path(folder_) / name).string(); }

const attune_tensor *CacheFiles::read(const char *name, std::initializer_list<attune_type> types, int rank, OptionalArray &to) {
    const std::string file = path(name);
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
        if (error) bad_argument("{} can't be looked for: {}", file, error.message());
        return nullptr;
    }
    to.array = read_array(file, types, rank, rank);
    to.tensor = tools::view(to.array);
    return &to.tensor;
}

CacheFiles::CacheFiles(const std::string &folder, bool ring, const AttentionInputs &in) : folder_(folder) {
    attune_cache_init(&cache_);
    cache_.block_table = read("block_table.npy", {ATTUNE_I32, ATTUNE_I64}, 2, table_);
    // Pools of pages have all axes; a cache that is a tensor an item leaves out what Q leaves out.
    const int rank = cache_.block_table ? 4 : in.rank();
    k_ = read_array(path("k.npy"), {in.q.type, ATTUNE_I8}, rank, rank);
    v_ = read_array(path("v.npy"), {k_.type}, rank, rank);
    lengths_ = read_per_batch(path("lengths.npy"), in);
    cache_.k = tools::view(k_, 4), cache_.v = tools::view(v_, 4), cache_.lengths = tools::view(lengths_, 1);
    const attune_tensor *k_scale = read("k_scale.npy", {ATTUNE_F32}, rank - 1, k_scale_);
    const attune_tensor *v_scale = read("v_scale.npy", {ATTUNE_F32}, rank - 1, v_scale_);
    if (k_scale) k_scale_.tensor = tools::view(k_scale_.array, 3);
    if (v_scale) v_scale_.tensor = tools::view(v_scale_.array, 3);
    cache_.k_scale = k_scale, cache_.v_scale = v_scale;
    cache_.ring = ring;
}

int64_t CacheFiles::capacity() const { return cache_.k.extent[2] * (cache_.block_table ? cache_.block_table->extent[1] : 1); }

void CacheFiles::check_numbers(int64_t new_tokens) const {
    const int64_t size = cache_.k.extent[2], pages = cache_.k.extent[0], columns = cache_.block_table ? cache_.block_table->extent[1] : 1;
    for (int64_t b = 0; b < cache_.lengths.extent[0]; ++b) {
        const int64_t length = integer_at(lengths_, b);
        if (length < 0 || length > capacity() - new_tokens)
            bad_argument("{} holds {}; with {} new tokens it must be 0 to {}", path("lengths.npy"), length, new_tokens,
                         capacity() - new_tokens);
        for (int64_t p = 0; cache_.block_table && p * size < length + new_tokens; ++p) {
            const int64_t page = integer_at(table_.array, b * columns + p);
            if (page < 0 || page >= pages)
                bad_argument("{} holds {}; it must be 0 to {}, a page of k.npy", path("block_table.npy"), page, pages - 1);
        }
    }
}

const attune_cache *CacheFiles::on_device(DeviceTensors &tensors, int64_t new_tokens) {
    if (tensors.device() == ATTUNE_CPU) return &cache_;
    if (!cache_.ring) check_numbers(new_tokens);
    device_cache_ = cache_;
    device_cache_.k = tensors.in_place(cache_.k), device_cache_.v = tensors.in_place(cache_.v);
    device_cache_.lengths = tensors.input(cache_.lengths, path("lengths.npy"));
    device_cache_.block_table = tensors.optional_input(cache_.block_table, path("block_table.npy"));
    return &device_cache_;
}

void CacheFiles::add_outputs(OutputSet &outputs) const {
    outputs.add("--cache", path("k.npy"), k_);
    outputs.add("--cache", path("v.npy"), v_);
    if (cache_.k_scale) outputs.add("--cache", path("k_scale.npy"), k_scale_.array);
    if (cache_.v_scale) outputs.add("--cache", path("v_scale.npy"), v_scale_.array);
    outputs.add("--cache", path("lengths.npy"), lengths_); // last: what a process that is killed leaves past the old lengths isn't read
}

void CacheFiles::lengthen(int64_t tokens) {
    for (int64_t b = 0; b < cache_.lengths.extent[0]; ++b) {
        if (lengths_.type == ATTUNE_I32) lengths_.as<int32_t>()[b] += static_cast<int32_t>(tokens);
        if (lengths_.type == ATTUNE_I64) lengths_.as<int64_t>()[b] += tokens;
    }
}

} // namespace attune::tools
