#include "output_set.h"

#include <filesystem>
#include <memory>

#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "npy.h"
#include "temporary_file.h"

namespace attune::tools {
namespace {

namespace fs = std::filesystem;

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

/** A temporary file can be read by its owner alone; the finished one gets the mode of the one it replaces, or the usual one. */
mode_t finished_mode(const std::string &target) {
    struct stat info {};
    if (::stat(target.c_str(), &info) == 0) return info.st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

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
    const TemporaryFile can_be_made(target.string(), path); // before anything is computed
    outputs_.push_back({option, path, target.string(), array, text});
}

void OutputSet::commit() {
    std::vector<std::unique_ptr<TemporaryFile>> files;
    for (const Output &output : outputs_) {
        files.push_back(std::make_unique<TemporaryFile>(output.target, output.path));
        TemporaryFile &file = *files.back();
        const std::string head = output.array ? npy_header(output.array->type, output.array->shape) : *output.text;
        file.write(head.data(), static_cast<int64_t>(head.size()));
        if (output.array) file.write(output.array->data.get(), output.array->bytes);
        file.finish(finished_mode(output.target));
    }
    for (const auto &file : files)
        file->give_name();
    try {
        for (const auto &file : files)
            file->place();
    } catch (...) {
        for (auto file = files.rbegin(); file != files.rend(); ++file)
            (*file)->take_back();
        throw;
    }
}

} // namespace attune::tools
