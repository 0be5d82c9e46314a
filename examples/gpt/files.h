// Whole files: mapped, or as text or JSON. What can't be read is an Error that names the file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace gpt {

/** A file's bytes, mapped read-only while this lives. */
class MappedFile {
public:
    explicit MappedFile(const std::filesystem::path &path);
    ~MappedFile();
    MappedFile(MappedFile &&other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }
    MappedFile &operator=(MappedFile &&) = delete;

    std::string_view bytes() const { return {data_, size_}; }

private:
    const char *data_ = nullptr;
    size_t size_ = 0;
};

std::string read_text(const std::filesystem::path &path);

nlohmann::json read_json(const std::filesystem::path &path);

/** The member of that name, or `otherwise` where there is none or it is null. An Error, naming it, if it is of another type, or
 * no number that T can hold. */
template <typename T> T value_or(const nlohmann::json &object, const char *name, T otherwise);

} // namespace gpt
