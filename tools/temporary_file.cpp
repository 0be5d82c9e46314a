#include "temporary_file.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

namespace attune::tools {
namespace {

/** Errors of creating a file that another path would cure. */
bool path_is_wrong(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM || error == EROFS || error == ENAMETOOLONG ||
           error == ELOOP;
}

[[noreturn]] void cannot_write(const std::string &path, int error) {
    const int code = path_is_wrong(error) ? exit_bad_argument : exit_failure;
    throw CommandError(code, fmt::format("{} can't be written: {}", path, std::strerror(error)));
}

std::string directory_of(const std::string &target) { return std::filesystem::path(target).parent_path().string(); }

/** Where a file of this process without a name can be found. */
std::string link_to(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

int open_nameless(const std::string &directory) {
    const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (descriptor < 0 || ::access(link_to(descriptor).c_str(), F_OK) == 0) return descriptor;
    ::close(descriptor); // it couldn't be given a name
    return -1;
}

} // namespace

TemporaryFile::TemporaryFile(std::string target, std::string path) : target_(std::move(target)), path_(std::move(path)) {
    descriptor_ = open_nameless(directory_of(target_));
    if (descriptor_ >= 0) return;
    // Of a name of its own length, since the target's may be as long as names can be.
    std::string name = directory_of(target_) + "/.attune.XXXXXX";
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) cannot_write(path_, errno);
    name_ = std::move(name);
}

TemporaryFile::~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!name_.empty()) ::unlink(name_.c_str());
}

void TemporaryFile::write(const void *data, int64_t size) {
    const auto *at = static_cast<const char *>(data);
    while (size > 0) {
        const ssize_t put = ::write(descriptor_, at, static_cast<std::size_t>(size));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) cannot_write(path_, errno);
        at += put, size -= put;
    }
}

void TemporaryFile::give_name() {
    const std::string from = link_to(descriptor_), start = directory_of(target_) + "/.attune." + std::to_string(::getpid()) + ".";
    for (int i = 0; name_.empty(); ++i) {
        std::string name = start + std::to_string(i);
        if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
            name_ = std::move(name);
        else if (errno != EEXIST)
            cannot_write(path_, errno);
    }
}

void TemporaryFile::finish(mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0 || ::fsync(descriptor_) != 0) cannot_write(path_, errno);
    give_name();
    if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, errno);
}

void TemporaryFile::place() {
    const auto move = [&](unsigned flags) { return ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), flags) == 0; };
    if (move(RENAME_EXCHANGE)) {
        placed_ = Placed::by_exchange;
        return;
    }
    if (errno == ENOENT && move(RENAME_NOREPLACE)) {
        placed_ = Placed::as_new;
    } else if ((errno == EINVAL || errno == ENOSYS) && ::rename(name_.c_str(), target_.c_str()) == 0) { // a file system without the two
        placed_ = Placed::over;
    } else {
        cannot_write(path_, errno);
    }
    name_.clear();
}

void TemporaryFile::take_back() {
    if (placed_ == Placed::by_exchange) ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE);
    if (placed_ == Placed::as_new) ::unlink(target_.c_str());
    placed_ = Placed::no;
}

} // namespace attune::tools
