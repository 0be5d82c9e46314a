#include "fatbin.h"

#include <cstdint>
#include <cstdlib>

#include "error.h"

namespace attune::ptx {

namespace {

constexpr size_t elf_abi_version = 8; // its place in an ELF file
constexpr uint64_t flags = 0x11, specific_flag = 0x100000;

void append(std::string &bytes, uint64_t value, int size) {
    for (int i = 0; i < size; ++i)
        bytes += static_cast<char>(value >> 8 * i & 0xff);
}

/** The number in "sm_90a"; `specific`: whether an "a" follows it. */
uint32_t number_of(const std::string &arch, bool &specific) {
    const size_t end = arch.find_first_not_of("0123456789", 3);
    const std::string digits = arch.substr(0, 3) == "sm_" ? arch.substr(3, end == std::string::npos ? end : end - 3) : "";
    const std::string suffix = end == std::string::npos ? "" : arch.substr(end);
    specific = suffix == "a";
    if (digits.empty() || digits.size() > 3 || (!suffix.empty() && !specific))
        throw Error("architecture '" + arch + "' must be like sm_80 or sm_90a");
    return static_cast<uint32_t>(std::stoul(digits));
}

/** The numbers after .version. */
void ptx_version(const std::string &ptx, int &major, int &minor) {
    const size_t at = ptx.find(".version ");
    char *dot = nullptr;
    if (at != std::string::npos) major = static_cast<int>(std::strtol(ptx.c_str() + at + 9, &dot, 10));
    if (!dot || *dot != '.') throw Error("the PTX of a fatbin has no .version");
    minor = static_cast<int>(std::strtol(dot + 1, nullptr, 10));
}

void check_cubin(const std::string &cubin) {
    if (cubin.size() < 64 || cubin.compare(0, 4, "\177ELF") != 0) throw Error("a cubin of a fatbin is no ELF file");
}

void append_image(std::string &bytes, const Image &image) {
    const bool is_ptx = image.kind == Image::Kind::ptx;
    std::string content = image.content;
    if (is_ptx) content += '\0';
    content.resize((content.size() + 7) / 8 * 8);
    int major = 1, minor = 0;
    bool specific;
    const uint32_t arch = number_of(image.arch, specific);
    if (is_ptx) {
        ptx_version(image.content, major, minor);
    } else {
        check_cubin(content);
        minor = static_cast<unsigned char>(content[elf_abi_version]);
    }
    append(bytes, is_ptx ? 1 : 2, 2);
    append(bytes, 0x0101, 2);
    append(bytes, is_ptx ? 80 : 64, 4);
    append(bytes, content.size(), 8);
    append(bytes, 0, 4);
    append(bytes, is_ptx ? 64 : 0, 4);
    append(bytes, minor, 2);
    append(bytes, major, 2);
    append(bytes, arch, 4);
    append(bytes, 0, 8);
    append(bytes, flags | (specific ? specific_flag : 0), 8);
    append(bytes, 0, 8);
    append(bytes, 0, 8);
    if (is_ptx) append(bytes, 72, 8), append(bytes, 0, 8);
    bytes += content;
}

} // namespace

std::string make_fatbin(const std::vector<Image> &images) {
    std::string body, bytes;
    for (const Image &image : images)
        append_image(body, image);
    append(bytes, 0xBA55ED50, 4);
    append(bytes, 1, 2);
    append(bytes, 16, 2);
    append(bytes, body.size(), 8);
    return bytes + body;
}

} // namespace attune::ptx
