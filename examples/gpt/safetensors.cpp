#include "safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "bfloat16.h"
#include "error.h"
#include "files.h"

namespace gpt {

namespace {

using nlohmann::json;

constexpr size_t length_bytes = 8;
constexpr uint64_t longest_header = 100'000'000; // as in the format's own library

int64_t element_bytes(const std::string &dtype) {
    static const std::map<std::string, int64_t> sizes = {{"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4},     {"I32", 4},
                                                         {"U32", 4}, {"F16", 2}, {"I16", 2},  {"U16", 2},     {"BF16", 2},
                                                         {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
    const auto found = sizes.find(dtype);
    return found == sizes.end() ? 0 : found->second;
}

/** The header's text. */
std::string_view header_of(std::string_view bytes, const std::string &file) {
    require(bytes.size() >= length_bytes, "{} has {} bytes; a .safetensors file has at least {}", file, bytes.size(), length_bytes);
    uint64_t length = 0;
    for (size_t i = length_bytes; i-- > 0;)
        length = length << 8 | static_cast<unsigned char>(bytes[i]);
    const uint64_t most = std::min<uint64_t>(bytes.size() - length_bytes, longest_header);
    require(length <= most, "{}: the header's length is {}; it must be at most {}", file, length, most);
    return bytes.substr(length_bytes, static_cast<size_t>(length));
}

/** The header as an object. The parser would keep the last of several tensors of one name; the format has none. */
json entries_of(std::string_view header, const std::string &file) {
    std::set<std::string> names;
    std::optional<std::string> repeated;
    json entries = parse_json(header, [&](int depth, json::parse_event_t event, const json &name) {
        if (event == json::parse_event_t::key && depth == 1 && !names.insert(name.get<std::string>()).second)
            repeated = name.get<std::string>();
    });
    require(entries.is_object() && header.front() == '{', "{}: the header isn't a JSON object", file);
    require(!repeated, "{}: the header describes tensor {} twice", file, repeated.value_or(""));
    return entries;
}

/** An array of integers of 0 or more, or an Error. */
std::vector<int64_t> sizes_of(const json &entry, const char *member, const std::string &where) {
    const auto found = entry.find(member);
    require(found != entry.end() && found->is_array(), "{} has no array \"{}\"", where, member);
    std::vector<int64_t> sizes;
    for (const json &size : *found) {
        require(size.is_number_unsigned() && size.get<uint64_t>() <= INT64_MAX, "{}: \"{}\" holds {}; its numbers must be 0 to 2^63 - 1",
                where, member, size.dump());
        sizes.push_back(size.get<int64_t>());
    }
    return sizes;
}

StoredTensor parse_entry(const json &entry, std::string_view data, const std::string &where) {
    require(entry.is_object(), "{} must be described by a JSON object", where);
    StoredTensor tensor;
    if (const auto dtype = entry.find("dtype"); dtype != entry.end() && dtype->is_string()) tensor.dtype = dtype->get<std::string>();
    const int64_t size = element_bytes(tensor.dtype);
    require(size > 0, "{} has the dtype \"{}\", which isn't known", where, tensor.dtype);
    tensor.shape = sizes_of(entry, "shape", where);
    const std::vector<int64_t> place = sizes_of(entry, "data_offsets", where);
    require(place.size() == 2 && place[0] <= place[1] && place[1] <= static_cast<int64_t>(data.size()),
            "{}: \"data_offsets\" must be a begin and an end within the {} bytes of data", where, data.size());
    const int64_t count = count_elements(tensor.shape), bytes = place[1] - place[0];
    require(count >= 0 && count <= bytes / size && count * size == bytes, "{} takes {} bytes, which isn't what its shape and {} take",
            where, bytes, tensor.dtype);
    tensor.bytes = data.substr(static_cast<size_t>(place[0]), static_cast<size_t>(bytes));
    return tensor;
}

/** The format allows neither holes nor bytes that two tensors share. */
void check_cover(const StoredTensors &tensors, std::string_view data, const std::string &file) {
    std::vector<std::string_view> parts;
    for (const auto &[name, tensor] : tensors)
        parts.push_back(tensor.bytes);
    std::sort(parts.begin(), parts.end(), [](std::string_view a, std::string_view b) {
        return std::pair(a.data(), a.size()) < std::pair(b.data(), b.size()); // empty ones first
    });
    const char *end = data.data();
    for (std::string_view part : parts) {
        require(part.data() == end, "{}: tensors overlap or leave a hole at byte {} of the data", file, end - data.data());
        end += part.size();
    }
    require(end == data.data() + data.size(), "{} has {} bytes after its last tensor", file, data.data() + data.size() - end);
}

/** IEEE 754 binary16: scaling by 2^112 puts its exponent right, subnormal numbers included. */
float from_f16(uint16_t half) {
    const bool special = (half & 0x7c00) == 0x7c00; // Inf and NaN keep the highest exponent
    const uint32_t magnitude = uint32_t(half & 0x7fff) << 13 | (special ? 0x7f800000u : 0u), sign = uint32_t(half & 0x8000) << 16;
    float value = 0;
    std::memcpy(&value, &magnitude, sizeof(value));
    if (!special) value *= 0x1p112f;
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    bits |= sign;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

std::vector<float> widen(std::string_view bytes, float (*convert)(uint16_t)) {
    std::vector<float> values(bytes.size() / 2);
    for (size_t i = 0; i < values.size(); ++i) {
        uint16_t half = 0;
        std::memcpy(&half, bytes.data() + 2 * i, sizeof(half));
        values[i] = convert(half);
    }
    return values;
}

} // namespace

int64_t count_elements(const std::vector<int64_t> &shape) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    int64_t count = 1;
    for (int64_t extent : shape) {
        if (extent > (int64_t(1) << 62) / count) return -1;
        count *= extent;
    }
    return count;
}

StoredTensors parse_safetensors(std::string_view bytes, const std::string &file) {
    const std::string_view header = header_of(bytes, file), data = bytes.substr(length_bytes + header.size());
    const json entries = entries_of(header, file);
    StoredTensors tensors;
    for (const auto &[name, entry] : entries.items())
        if (name != "__metadata__") tensors[name] = parse_entry(entry, data, fmt::format("{}: tensor {}", file, name));
    check_cover(tensors, data, file);
    return tensors;
}

std::vector<float> to_f32(const StoredTensor &tensor, const std::string &name) {
    if (tensor.dtype == "BF16") return widen(tensor.bytes, from_bf16);
    if (tensor.dtype == "F16") return widen(tensor.bytes, from_f16);
    require(tensor.dtype == "F32", "{} has the dtype {}; it must be F32, F16 or BF16", name, tensor.dtype);
    std::vector<float> values(tensor.bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
}

} // namespace gpt
