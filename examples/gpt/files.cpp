#include "files.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

namespace gpt {

MappedFile::MappedFile(const std::filesystem::path &path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer would be waited for
    require(descriptor >= 0, "{} can't be opened: {}", path.string(), std::strerror(errno));
    struct stat info {};
    const bool regular = ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
    size_ = regular ? static_cast<size_t>(info.st_size) : 0;
    void *data = size_ > 0 ? ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
    ::close(descriptor);
    require(regular, "{} must be a regular file", path.string());
    require(data != MAP_FAILED, "{} can't be mapped: {}", path.string(), std::strerror(errno));
    data_ = static_cast<const char *>(data);
}

MappedFile::~MappedFile() {
    if (data_) ::munmap(const_cast<char *>(data_), size_);
}

bool is_there(const std::filesystem::path &path) {
    std::error_code error;
    const bool there = std::filesystem::exists(path, error);
    require(there || !error, "{} can't be looked for: {}", path.string(), error.message());
    return there;
}

nlohmann::json parse_json(std::string_view text, const NoteJson &note) {
    constexpr int deepest = 64;
    bool too_deep = false;
    const auto look = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json &part) {
        too_deep = too_deep || depth > deepest;
        if (note) note(depth, event, part);
        return !too_deep; // what is left out so isn't kept
    };
    nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), look, false);
    return too_deep ? nlohmann::json(nlohmann::json::value_t::discarded) : json;
}

std::string read_text(const std::filesystem::path &path) { return std::string(MappedFile(path).bytes()); }

nlohmann::json read_json(const std::filesystem::path &path) {
    const MappedFile file(path);
    nlohmann::json json = parse_json(file.bytes());
    require(json.is_object(), "{} must hold one JSON object", path.string());
    return json;
}

namespace {

/** Whether it is a whole number that T can hold; get() would round it, or keep its low bits. */
template <typename T> bool fits(const nlohmann::json &number) {
    if (number.is_number_unsigned()) return number.get<uint64_t>() <= uint64_t{std::numeric_limits<T>::max()};
    return number.is_number_integer() && number.get<int64_t>() >= std::numeric_limits<T>::min() &&
           number.get<int64_t>() <= std::numeric_limits<T>::max();
}

} // namespace

template <typename T> T value_or(const nlohmann::json &object, const char *name, T otherwise) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return otherwise;
    if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>)
        require(fits<T>(*found), "\"{}\" is {}; it must be a whole number of {} bits", name, found->dump(), 8 * sizeof(T));
    try {
        return found->get<T>();
    } catch (const nlohmann::json::exception &) {
        fail("\"{}\" is {}, which is of the wrong type", name, found->dump());
    }
}

template bool value_or(const nlohmann::json &, const char *, bool);
template int32_t value_or(const nlohmann::json &, const char *, int32_t);
template int64_t value_or(const nlohmann::json &, const char *, int64_t);
template double value_or(const nlohmann::json &, const char *, double);
template std::string value_or(const nlohmann::json &, const char *, std::string);
template std::vector<nlohmann::json> value_or(const nlohmann::json &, const char *, std::vector<nlohmann::json>);

} // namespace gpt
