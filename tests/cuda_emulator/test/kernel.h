// Running small pieces of PTX on the emulator and reading what they give.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver_api.h"

namespace attune::test {

/** Device memory that goes with the object. */
class DeviceBuffer {
public:
    explicit DeviceBuffer(size_t bytes);
    DeviceBuffer(const void *data, size_t bytes);
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer &) = delete;
    template <class T> std::vector<T> read(size_t count) const {
        std::vector<T> values(count);
        EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(T)), 0);
        return values;
    }
    unsigned long long address = 0;
};

/** A module with its kernels. */
class LoadedModule {
public:
    explicit LoadedModule(const std::string &ptx);
    ~LoadedModule();
    LoadedModule(const LoadedModule &) = delete;
    void *function(const char *name) const;

private:
    void *module = nullptr;
};

struct Shape {
    unsigned blocks = 1, threads = 32, shared = 0;
};

/** A context of its own for every test: a failed launch spoils it. */
class EmulatorTest : public testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    /** A module around a kernel "k" of parameters `in` and `out`: registers %p, %h (16 bits), %r (32) and %d (64), 64 of each, with
     *  %d0 = in, %d1 = out, %r0 = %tid.x, %d2 = in + 4 %r0, %d3 = out + 4 %r0. `before` goes before the kernel. */
    static std::string kernel(const std::string &body, const std::string &before = "");

    /** Runs it over `in`, and gives `count` words of the output. */
    static std::vector<uint32_t> run(const std::string &body, const std::vector<uint32_t> &in, size_t count, Shape shape = {},
                                     const std::string &before = "");

    /** One thread a case: %r1, %r2, %r3 are the values of a, b and c (or %d11, %d12, %d13 of 64 bits), and %r10 (%d10) is the result. */
    static std::vector<uint32_t> words(const std::string &body, const std::vector<uint32_t> &a, const std::vector<uint32_t> &b = {},
                                       const std::vector<uint32_t> &c = {});
    static std::vector<uint64_t> doubles(const std::string &body, const std::vector<uint64_t> &a, const std::vector<uint64_t> &b = {},
                                         const std::vector<uint64_t> &c = {});
    static std::vector<float> floats(const std::string &body, const std::vector<float> &a, const std::vector<float> &b = {},
                                     const std::vector<float> &c = {});

    /** Launches; the result and what was printed. Prints are kept from the test's output. */
    static int launch(const std::string &ptx, Shape shape, const std::vector<unsigned long long> &arguments, std::string &printed);
    /** Expects a body to fail with this result and this text in the message. */
    static void refuses(const std::string &body, int result, const std::string &text, Shape shape = {}, const std::string &before = "");

private:
    void *context = nullptr;
};

inline float float_of(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline uint64_t bits_of(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float brain_float(uint32_t half) { return float_of(half << 16); }
inline uint32_t brain_bits(float value) { return (bits_of(value) + 0x7fff + (bits_of(value) >> 16 & 1)) >> 16; }

} // namespace attune::test
