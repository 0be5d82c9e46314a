#include "fatbin.h"

#include <cstdint>
#include <cstring>

#include "../error.h"

namespace attune::emulator {
namespace {

constexpr uint32_t container_magic = 0xBA55ED50, wrapper_magic = 0x466243B1, elf_magic = 0x464c457f;
constexpr uint64_t compressed_flag = 0x8000;

template <class T> T number_at(const uint8_t *at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

std::string search_entries(const uint8_t *container, int target) {
    const uint8_t *at = container + number_at<uint16_t>(container + 6);
    const uint8_t *end = at + number_at<uint64_t>(container + 8);
    const uint8_t *found = nullptr;
    int best = -1;
    bool compressed = false;
    while (end - at >= 64) {
        const auto kind = number_at<uint16_t>(at);
        const auto header = number_at<uint32_t>(at + 4);
        const auto payload = number_at<uint64_t>(at + 8);
        const auto architecture = static_cast<int>(number_at<uint32_t>(at + 28));
        if (header < 64 || header > static_cast<uint64_t>(end - at) || payload > static_cast<uint64_t>(end - at) - header) {
            throw Error(Status::invalid_image, "the fat binary has an entry that reaches past its end");
        }
        const bool is_compressed = (number_at<uint64_t>(at + 40) & compressed_flag) != 0;
        compressed = compressed || (kind == 1 && is_compressed);
        if (kind == 1 && !is_compressed && architecture <= target && architecture > best) {
            best = architecture;
            found = at;
        }
        at += header + payload;
    }
    if (found == nullptr) {
        throw Error(Status::no_binary_for_device, "the fat binary has no PTX for architecture " + std::to_string(target) +
                                                      (compressed ? " that is not compressed" : "") + "; the emulator runs PTX alone");
    }
    const char *text = reinterpret_cast<const char *>(found + number_at<uint32_t>(found + 4));
    return std::string(text, strnlen(text, number_at<uint64_t>(found + 8)));
}

} // namespace

std::string find_ptx(const void *image, int target) {
    if (image == nullptr) throw Error(Status::invalid_value, "the image is null");
    const auto *bytes = static_cast<const uint8_t *>(image);
    for (size_t i = 0; i < 4; ++i) {
        if (bytes[i] == 0) throw Error(Status::invalid_image, "the image is neither PTX nor a fat binary");
        if (i == 0 && bytes[0] != 0x50 && bytes[0] != 0xB1 && bytes[0] != 0x7f) break; // text, however short
    }
    const auto magic = bytes[0] == 0x50 || bytes[0] == 0xB1 || bytes[0] == 0x7f ? number_at<uint32_t>(bytes) : 0;
    if (magic == wrapper_magic) return find_ptx(number_at<const void *>(bytes + 8), target);
    if (magic == container_magic) return search_entries(bytes, target);
    if (magic == elf_magic) throw Error(Status::no_binary_for_device, "the image is machine code; the emulator runs PTX alone");
    return std::string(static_cast<const char *>(image));
}

} // namespace attune::emulator
