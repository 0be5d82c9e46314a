#include "npy.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

namespace attune::tools {
namespace {

constexpr std::size_t max_rank = 32; // NumPy's own limit before 2.0; no operation here takes more

/** A regular file, read from start to end. */
class InputFile {
public:
    explicit InputFile(const std::string &name) : name_(name), descriptor_(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (descriptor_ < 0) bad_argument("{} can't be opened: {}", name, std::strerror(errno));
        struct stat info {};
        const bool regular = ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode);
        left_ = info.st_size;
        if (regular) return;
        ::close(descriptor_);
        bad_argument("{} must be a regular file", name);
    }
    ~InputFile() { ::close(descriptor_); }
    InputFile(const InputFile &) = delete;
    InputFile &operator=(const InputFile &) = delete;

    /** Bytes between here and the end. */
    int64_t left() const { return left_; }

    /** Fills `size` bytes, which must be left. */
    void read(void *memory, int64_t size) {
        auto *at = static_cast<char *>(memory);
        left_ -= size;
        while (size > 0) {
            const ssize_t got = ::read(descriptor_, at, static_cast<std::size_t>(size));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) failure("{} can't be read: {}", name_, std::strerror(errno));
            if (got == 0) bad_argument("{} became shorter while it was read", name_);
            at += got, size -= got;
        }
    }

private:
    const std::string &name_;
    int descriptor_;
    int64_t left_ = 0;
};

/** The header's dictionary; leaves `input` at the first byte of data. */
std::string read_dictionary(InputFile &input, const std::string &file) {
    unsigned char start[12] = {};
    if (input.left() >= 10) input.read(start, 8);
    if (std::memcmp(start, "\x93NUMPY", 6) != 0) bad_argument("{} isn't a .npy file", file);
    const int major = start[6], minor = start[7];
    if (major < 1 || major > 3 || minor != 0) bad_argument("{} has .npy version {}.{}; it must be 1.0, 2.0 or 3.0", file, major, minor);
    const int width = major == 1 ? 2 : 4; // bytes of the little-endian length
    if (input.left() < width) bad_argument("{} is truncated: its .npy header ends early", file);
    input.read(start + 8, width);
    int64_t length = 0;
    for (int i = width - 1; i >= 0; --i)
        length = length * 256 + start[8 + i];
    if (input.left() < length) bad_argument("{} is truncated: its .npy header is {} bytes, {} are there", file, length, input.left());
    std::string dictionary(static_cast<std::size_t>(length), ' ');
    input.read(dictionary.data(), length);
    return dictionary;
}

/** What NumPy writes for a type of two bytes that it doesn't know, as ml_dtypes' bfloat16 is. */
bool is_void_pair(const std::string &descr) { return descr == "<V2" || descr == "|V2"; }

attune_type accepted_type(const NpyHeader &header, std::initializer_list<attune_type> accepted, const std::string &file) {
    std::string names;
    for (attune_type type : accepted) {
        if (header.descr == npy_descr(type) || (type == ATTUNE_BF16 && is_void_pair(header.descr))) return type;
        names += fmt::format("{}'{}'", names.empty() ? "" : " or ", npy_descr(type));
        if (type == ATTUNE_BF16) names += " or '<V2'";
    }
    bad_argument("{} has elements of type '{}'; they must be {}", file, header.descr, names);
}

} // namespace

Array read_npy(const std::string &file, std::initializer_list<attune_type> accepted) {
    InputFile input(file);
    const NpyHeader header = parse_npy_header(read_dictionary(input, file), file);
    const attune_type type = accepted_type(header, accepted, file);
    if (header.fortran_order) bad_argument("{} is in Fortran order; it must be in C order", file);
    if (header.shape.size() > max_rank) bad_argument("{} has rank {}; it must be at most {}", file, header.shape.size(), max_rank);
    const int64_t bytes = element_count(header.shape, file) * element_bytes(type);
    if (input.left() < bytes)
        bad_argument("{} is truncated: shape {} needs {} bytes of data, {} are there", file, shape_text(header.shape), bytes, input.left());
    if (input.left() > bytes) bad_argument("{} has {} bytes after its data; it must have none", file, input.left() - bytes);
    Array array = make_array(type, header.shape, file);
    input.read(array.data.get(), bytes);
    return array;
}

OptionalArray read_optional(const std::string &file, std::initializer_list<attune_type> accepted) {
    OptionalArray optional;
    if (file.empty()) return optional;
    optional.array = read_npy(file, accepted);
    const std::size_t rank = optional.array.shape.size();
    if (rank < 1 || rank > ATTUNE_MAX_RANK) bad_argument("{} has rank {}; it must be 1 to {}", file, rank, ATTUNE_MAX_RANK);
    optional.tensor = view(optional.array);
    return optional;
}

} // namespace attune::tools
