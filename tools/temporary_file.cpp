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

/** Gives a nameless file a name of its own in the directory; "" where that can't be, and errno says why. */
std::string named(int descriptor, const std::string &directory) {
    const std::string from = link_to(descriptor), start = directory + "/.attune." + std::to_string(::getpid()) + ".";
    for (int i = 0;; ++i) {
        std::string name = start + std::to_string(i);
        if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return name;
        if (errno != EEXIST) return "";
    }
}

/** -1 where there can be no such file, or where it couldn't be given a name: that of one that is empty is tried. */
int open_nameless(const std::string &directory) {
    const auto open = [&] { return ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600); };
    const int tried = open();
    if (tried < 0) return -1;
    const std::string name = named(tried, directory);
    ::close(tried);
    if (name.empty()) return -1;
    ::unlink(name.c_str());
    return open();
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
    for (const std::string &name : {name_, kept_})
        if (!name.empty()) ::unlink(name.c_str());
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

void TemporaryFile::finish(mode_t mode) {
    if (::fchmod(descriptor_, mode) != 0 || ::fsync(descriptor_) != 0) cannot_write(path_, errno);
}

void TemporaryFile::give_name() {
    if (name_.empty()) name_ = named(descriptor_, directory_of(target_));
    if (name_.empty()) cannot_write(path_, errno);
    if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, errno);
}

void TemporaryFile::place() {
    const auto move = [&](unsigned flags) { return ::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), flags) == 0; };
    if (move(RENAME_EXCHANGE)) {
        placed_ = Placed::by_exchange;
        return;
    }
    const bool is_new = errno == ENOENT;
    if (!is_new || !move(RENAME_NOREPLACE)) {
        if (errno != EINVAL && errno != ENOSYS) cannot_write(path_, errno);
        // A file system that can do neither.
        if (!is_new && ::link(target_.c_str(), (name_ + ".old").c_str()) == 0) kept_ = name_ + ".old";
        if (::rename(name_.c_str(), target_.c_str()) != 0) cannot_write(path_, errno);
    }
    placed_ = is_new ? Placed::as_new : Placed::over;
    name_.clear();
}

void TemporaryFile::take_back() {
    const auto move_back = [&](std::string &from) {
        if (!from.empty()) ::rename(from.c_str(), target_.c_str());
        from.clear();
    };
    switch (std::exchange(placed_, Placed::no)) {
    case Placed::no:
        break;
    case Placed::as_new:
        ::unlink(target_.c_str());
        break;
    case Placed::by_exchange:
        if (::renameat2(AT_FDCWD, name_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) move_back(name_);
        break;
    case Placed::over:
        move_back(kept_);
        break;
    }
}

} // namespace attune::tools
