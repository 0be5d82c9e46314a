#include "output_set.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "npy.h"

namespace attune::tools {
namespace {

namespace fs = std::filesystem;

/** Errors of creating a file that another path would cure. */
bool path_is_wrong(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM || error == EROFS || error == ENAMETOOLONG ||
           error == ELOOP;
}

[[noreturn]] void cannot_write(const std::string &path, int error) {
    const int code = path_is_wrong(error) ? exit_bad_argument : exit_failure;
    throw CommandError(code, fmt::format("{} can't be written: {}", path, std::strerror(error)));
}

/** The file that `path` leads to through symbolic links, there or not; empty where there is no such place. */
fs::path resolve(fs::path path) {
    std::error_code error;
    path = path.empty() ? path : fs::absolute(path, error);
    constexpr int max_links = 40; // as the kernel follows
    // weakly_canonical follows links to what is there only.
    for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)) && !fs::exists(path, error); ++links) {
        if (links == max_links) return {};
        path = path.parent_path() / fs::read_symlink(path, error);
    }
    return fs::weakly_canonical(path, error);
}

/** mkstemp makes files only their owner can read; the finished file gets the mode of the one it replaces, or the usual one. */
mode_t finished_mode(const std::string &target) {
    struct stat info {};
    if (::stat(target.c_str(), &info) == 0) return info.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/** For mkstemp: a hidden file beside the target, of a name of its own length, since the target's may be as long as names can be. */
std::string temporary_name(const std::string &target) { return (fs::path(target).parent_path() / ".attune.XXXXXX").string(); }

/** A file beside its target, removed unless it was renamed to it. */
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string &target) : name_(temporary_name(target)) {
        descriptor_ = ::mkstemp(name_.data());
        if (descriptor_ < 0) cannot_write(target, errno);
    }
    ~TemporaryFile() {
        if (descriptor_ >= 0) ::close(descriptor_);
        if (!name_.empty()) ::unlink(name_.c_str());
    }
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    void write(const void *data, int64_t size, const std::string &path) {
        const auto *at = static_cast<const char *>(data);
        while (size > 0) {
            const ssize_t put = ::write(descriptor_, at, static_cast<std::size_t>(size));
            if (put < 0 && errno == EINTR) continue;
            if (put < 0) cannot_write(path, errno);
            at += put, size -= put;
        }
    }
    /** Waits until the data is on the disk: a rename must never be seen before it. */
    void finish(mode_t mode, const std::string &path) {
        if (::fchmod(descriptor_, mode) != 0 || ::fsync(descriptor_) != 0) cannot_write(path, errno);
        if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path, errno);
    }
    void rename_to(const std::string &target, const std::string &path) {
        if (::rename(name_.c_str(), target.c_str()) != 0) cannot_write(path, errno);
        name_.clear();
    }

private:
    std::string name_;
    int descriptor_ = -1;
};

} // namespace

void OutputSet::add(const std::string &option, const std::string &path, const Array &array) { add(option, path, &array, nullptr); }

void OutputSet::add(const std::string &option, const std::string &path, const std::string &text) { add(option, path, nullptr, &text); }

void OutputSet::add(const std::string &option, const std::string &path, const Array *array, const std::string *text) {
    std::error_code error;
    const fs::path target = resolve(path);
    if (target.empty()) bad_argument("{} is {}; it must be a path that can be written", option, path);
    const fs::file_status there = fs::status(target, error);
    if (fs::exists(there) && !fs::is_regular_file(there)) bad_argument("{} is {}; it must be a regular file or a new one", option, path);
    if (fs::exists(there) && ::access(target.c_str(), W_OK) != 0) bad_argument("{} is {}; that file is read-only", option, path);
    if (!fs::is_directory(target.parent_path(), error) || fs::path(path).filename().empty())
        bad_argument("{} is {}; its directory must exist", option, path);
    for (const Output &other : outputs_)
        if (other.target == target) bad_argument("{} is {}; {} names the same file", option, path, other.option);
    outputs_.push_back({option, path, target.string(), array, text});
}

void OutputSet::commit() {
    std::vector<std::unique_ptr<TemporaryFile>> files;
    for (const Output &output : outputs_) {
        files.push_back(std::make_unique<TemporaryFile>(output.target));
        const std::string head = output.array ? npy_header(output.array->type, output.array->shape) : *output.text;
        files.back()->write(head.data(), static_cast<int64_t>(head.size()), output.path);
        if (output.array) files.back()->write(output.array->data.get(), output.array->bytes, output.path);
        files.back()->finish(finished_mode(output.target), output.path);
    }
    for (std::size_t i = 0; i < files.size(); ++i)
        files[i]->rename_to(outputs_[i].target, outputs_[i].path);
}

} // namespace attune::tools
