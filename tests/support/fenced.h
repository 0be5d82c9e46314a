// Memory that ends the program where it is read outside of what a kernel may read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace attune::test {

/** Memory whose pages before and after `first` to `end` can't be read: a kernel that reads there ends the program. */
class Fenced {
public:
    Fenced(int64_t floats, int64_t first, int64_t end) : bytes_(static_cast<size_t>(floats) * sizeof(float)) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        bytes_ = (bytes_ + page - 1) / page * page;
        memory_ = static_cast<char *>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::fill_n(data(), floats, 0.5f);
        const size_t before = static_cast<size_t>(first) * sizeof(float) / page * page;
        const size_t after = (static_cast<size_t>(end) * sizeof(float) + page - 1) / page * page;
        if (before > 0) mprotect(memory_, before, PROT_NONE);
        if (after < bytes_) mprotect(memory_ + after, bytes_ - after, PROT_NONE);
    }
    ~Fenced() { munmap(memory_, bytes_); }
    Fenced(const Fenced &) = delete;
    Fenced &operator=(const Fenced &) = delete;

    float *data() const { return reinterpret_cast<float *>(memory_); }

private:
    size_t bytes_;
    char *memory_;
};

/** So many bytes that begin a page, or end one, between pages that can't be read. */
class Walled {
public:
    Walled(int64_t bytes, bool at_end) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), size = static_cast<size_t>(bytes);
        bytes_ = (size + page - 1) / page * page + 2 * page;
        memory_ = static_cast<char *>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(memory_, page, PROT_NONE), mprotect(memory_ + bytes_ - page, page, PROT_NONE);
        data_ = at_end ? memory_ + bytes_ - page - size : memory_ + page;
    }
    ~Walled() { munmap(memory_, bytes_); }
    Walled(const Walled &) = delete;
    Walled &operator=(const Walled &) = delete;

    void *data() const { return data_; }

private:
    size_t bytes_;
    char *memory_, *data_;
};

} // namespace attune::test
