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
    /** Gives it its mode and a name, and waits until the data is on the disk: a rename must never be seen before it. */
    void finish(mode_t mode);
    /** Puts it in its target's place. What was there is kept until the end, for take_back(). */
    void place();
    /** Puts back what was there before place(), as far as the file system can. */
    void take_back();

private:
    enum class Placed { no, as_new, by_exchange, over };

    void give_name();

    std::string target_, path_, name_; // name_: of the file beside the target that goes at the end; empty: none
    int descriptor_ = -1;
    Placed placed_ = Placed::no;
};

} // namespace attune::tools
