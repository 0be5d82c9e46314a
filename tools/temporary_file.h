// A file that takes its target's place at once, when it is whole.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace attune::tools {

/** A file beside its target, without a name until it is to be put there, where the file system can do that, so that nothing is left of it
 * whenever the process ends. Errors are CommandErrors that name `path`, as the user wrote it. */
class TemporaryFile {
public:
    /** `target`: where it will go, symbolic links followed. */
    TemporaryFile(std::string target, std::string path);
    ~TemporaryFile();
    TemporaryFile(const TemporaryFile &) = delete;
    TemporaryFile &operator=(const TemporaryFile &) = delete;

    void write(const void *data, int64_t size);
    /** Gives it its mode, and waits until the data is on the disk: a rename must never be seen before it. */
    void finish(mode_t mode);
    /** Gives it a name, if it has none: to be called for all files before the first is placed. */
    void give_name();
    /** Puts it in its target's place. What was there is kept until the end, for take_back(), where the file system can exchange or link. */
    void place();
    /** Puts back what was there before place(). Where that fails, the old file keeps a name beside its target. */
    void take_back();

private:
    enum class Placed { no, as_new, by_exchange, over };

    std::string target_, path_;
    // Of files beside the target that go at the end, or empty: this one or, after an exchange, the old one; and a link to the old one.
    std::string name_, kept_;
    int descriptor_ = -1;
    Placed placed_ = Placed::no;
};

} // namespace attune::tools
