#include "assemble.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fatbin.h"

namespace attune::ptx {

namespace {

/** A file that goes away with this object. */
class TemporaryFile {
public:
    TemporaryFile(const std::string &folder, const std::string &suffix) {
        static std::atomic<int> count{0};
        const std::string name = "attune-" + std::to_string(getpid()) + "-" + std::to_string(count++) + suffix;
        path_ = (std::filesystem::path(folder.empty() ? "." : folder) / name).string();
    }
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }

    const std::string &path() const { return path_; }

    void write(const std::string &content) const {
        std::ofstream file(path_, std::ios::binary);
        if (!(file << content).flush()) throw Error("cannot write " + path_);
    }

    /** What the file holds; nothing if it isn't there. */
    std::string read() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::string path_;
};

/** Runs a program with what it prints going to a file. Returns its exit status. */
int run(const std::vector<std::string> &command, const std::string &log) {
    std::vector<char *> arguments;
    for (const std::string &word : command)
        arguments.push_back(const_cast<char *>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child;
    const int error = posix_spawnp(&child, command[0].c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) throw Error("cannot run " + command[0] + ": " + std::strerror(error));
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) throw Error("cannot wait for " + command[0] + ": " + std::strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/** The .target of PTX text: "sm_80". */
std::string target_of(const std::string &ptx) {
    const size_t at = ptx.find(".target ");
    if (at == std::string::npos) throw Error("the PTX has no .target");
    return ptx.substr(at + 8, ptx.find_first_of(" ,\n", at + 8) - at - 8);
}

} // namespace

std::string make_cubin(const std::string &ptx, const std::string &arch, const AssembleOptions &options,
                       std::vector<KernelFigures> &figures) {
    const TemporaryFile source(options.folder, ".ptx"), cubin(options.folder, ".cubin"), log(options.folder, ".log");
    source.write(ptx);
    const int status = run({options.ptxas, "-v", "-arch=" + arch, source.path(), "-o", cubin.path()}, log.path());
    const std::string printed = log.read();
    std::string code = cubin.read();
    if (status != 0 || code.empty())
        throw Error("ptxas ended with status " + std::to_string(status) + " for " + arch + ":\n" + explain_errors(printed, ptx));
    if (const std::string remark = wgmma_remark(printed); !remark.empty()) throw Error("for " + arch + " " + remark);
    for (const KernelFigures &kernel : parse_figures(printed, arch))
        figures.push_back(kernel);
    return code;
}

DeviceCode assemble(const std::vector<Source> &sources, const AssembleOptions &options) {
    DeviceCode result;
    std::vector<Image> images;
    for (const Source &source : sources)
        for (const std::string &arch : source.architectures)
            if (!options.ptxas.empty()) images.push_back({Image::Kind::cubin, arch, make_cubin(source.ptx, arch, options, result.figures)});
    for (const Source &source : sources)
        if (source.keep_ptx || options.ptxas.empty()) images.push_back({Image::Kind::ptx, target_of(source.ptx), source.ptx});
    result.fatbin = make_fatbin(images);
    return result;
}

} // namespace attune::ptx
