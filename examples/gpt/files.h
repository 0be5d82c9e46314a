// Whole files: mapped, or as text or JSON. What can't be read is an Error that names the file.
#pragma once

#include <filesystem>
#include <functional>
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

/** Whether there is a file or folder of that name. An Error, naming it, where that can't be found out. */
bool is_there(const std::filesystem::path &path);

std::string read_text(const std::filesystem::path &path);

/** Sees each part of a JSON text as it is parsed, by nlohmann's parser_callback_t, for instance the keys of an object. */
using NoteJson = std::function<void(int depth, nlohmann::json::parse_event_t event, const nlohmann::json &part)>;

/** A text as JSON; a discarded value where it is none, or nested deeper than any file of a model: what reads a json's parts recurses. */
nlohmann::json parse_json(std::string_view text, const NoteJson &note = {});

nlohmann::json read_json(const std::filesystem::path &path);

/** The member of that name, or `otherwise` where there is none or it is null. An Error, naming it, if it is of another type, or
 * no number that T can hold. */
template <typename T> T value_or(const nlohmann::json &object, const char *name, T otherwise);

} // namespace gpt
