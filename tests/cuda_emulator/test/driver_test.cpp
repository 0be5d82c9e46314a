// The driver API: devices, contexts, memory, modules, fat binaries, entry points by name.
#include "kernel.h"

#include <thread>

namespace attune::test {

using Driver = EmulatorTest;

TEST_F(Driver, DescribesTheDevice) {
    int count = 0, device = -1, value = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), 0);
    EXPECT_EQ(count, 1);
    EXPECT_EQ(cuDeviceGet(&device, 0), 0);
    EXPECT_EQ(cuDeviceGet(&device, 1), 101);
    char name[64];
    EXPECT_EQ(cuDeviceGetName(name, sizeof name, 0), 0);
    EXPECT_STREQ(name, "PTX emulator");
    EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 0), 0);
    EXPECT_EQ(value, 9);
    EXPECT_EQ(cuDeviceGetAttribute(&value, 97, 0), 0);
    EXPECT_EQ(value, 227 << 10);
    const char *error = nullptr;
    EXPECT_EQ(cuGetErrorName(700, &error), 0);
    EXPECT_STREQ(error, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(Driver, KeepsAContextForEachThread) {
    void *here = nullptr, *there = &here;
    EXPECT_EQ(cuCtxGetCurrent(&here), 0);
    EXPECT_NE(here, nullptr);
    int result = -1;
    std::thread([&] {
        cuCtxGetCurrent(&there);
        unsigned long long address;
        result = cuMemAlloc_v2(&address, 16);
    }).join();
    EXPECT_EQ(there, nullptr);
    EXPECT_EQ(result, 201);
    void *primary = nullptr, *popped = nullptr;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), 0);
    EXPECT_EQ(cuCtxPushCurrent_v2(primary), 0);
    EXPECT_EQ(cuCtxPopCurrent_v2(&popped), 0);
    EXPECT_EQ(popped, primary);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), 0);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), 201);
}

TEST_F(Driver, CopiesAndFills) {
    std::vector<uint32_t> words = {1, 2, 3, 4, 5, 6, 7, 8};
    const DeviceBuffer first(words.data(), 32), second(32);
    EXPECT_EQ(cuMemcpyDtoD_v2(second.address + 4, first.address, 16), 0);
    EXPECT_EQ(cuMemsetD32_v2(second.address + 20, 9, 2), 0);
    EXPECT_EQ(cuMemsetD8_v2(second.address + 28, 1, 4), 0);
    EXPECT_EQ(second.read<uint32_t>(8), (std::vector<uint32_t>{~0u, 1, 2, 3, 4, 9, 9, 0x01010101}));
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuMemcpyHtoD_v2(second.address + 4, words.data(), 32), 1);
    EXPECT_EQ(cuMemcpyDtoH_v2(words.data(), reinterpret_cast<unsigned long long>(words.data()), 4), 1);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("not all in one allocation"), std::string::npos);
    void *context = nullptr;
    EXPECT_EQ(cuPointerGetAttribute(&context, 1, first.address + 8), 0);
    EXPECT_EQ(cuPointerGetAttribute(&context, 1, reinterpret_cast<unsigned long long>(words.data())), 1);
    EXPECT_EQ(cuMemFree_v2(first.address + 8), 1);
}

TEST_F(Driver, CopiesBoxes) {
    struct Side {
        size_t x, y, z, lod;
        int type;
        const void *host;
        unsigned long long device;
        void *array, *reserved;
        size_t pitch, height;
    };
    struct {
        Side source, destination;
        size_t width, height, depth;
    } copy{};
    std::vector<uint32_t> words(60);
    for (uint32_t i = 0; i < 60; ++i)
        words[i] = i;
    const DeviceBuffer device(48);
    copy.source = {4, 1, 1, 0, 1, words.data(), 0, nullptr, nullptr, 20, 4}; // 5 words by 4 by 3
    copy.destination = {0, 0, 0, 0, 2, nullptr, device.address, nullptr, nullptr, 8, 3};
    copy.width = 8, copy.height = 3, copy.depth = 2;
    EXPECT_EQ(cuMemcpy3D_v2(&copy), 0);
    EXPECT_EQ(device.read<uint32_t>(12), (std::vector<uint32_t>{26, 27, 31, 32, 36, 37, 46, 47, 51, 52, 56, 57}));
}

TEST_F(Driver, FindsFunctionsAndGlobals) {
    const LoadedModule module(
        kernel("ld.global.u32 %r1, [number]; st.global.u32 [%d1], %r1;", ".visible .global .align 4 .u32 number = 42;"));
    void *loaded = nullptr, *function = nullptr;
    EXPECT_EQ(cuModuleLoadData(&loaded, kernel("", ".visible .global .align 4 .u32 number = 42;").c_str()), 0);
    EXPECT_EQ(cuModuleGetFunction(&function, loaded, "nosuch"), 500);
    unsigned long long address = 0;
    size_t bytes = 0;
    EXPECT_EQ(cuModuleGetGlobal_v2(&address, &bytes, loaded, "number"), 0);
    EXPECT_EQ(bytes, 4u);
    uint32_t number = 0;
    EXPECT_EQ(cuMemcpyDtoH_v2(&number, address, 4), 0);
    EXPECT_EQ(number, 42u);
    EXPECT_EQ(cuModuleUnload(loaded), 0);
    int threads = 0;
    EXPECT_EQ(cuFuncGetAttribute(&threads, 0, module.function("k")), 0);
    EXPECT_EQ(threads, 1024);
}

TEST_F(Driver, TakesParametersInABuffer) {
    const LoadedModule module(kernel("st.global.u32 [%d3], %r0;"));
    const DeviceBuffer out(128);
    unsigned long long values[] = {out.address, out.address};
    size_t bytes = sizeof values;
    void *extra[] = {reinterpret_cast<void *>(1), values, reinterpret_cast<void *>(2), &bytes, nullptr};
    EXPECT_EQ(cuLaunchKernel(module.function("k"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), 0);
    EXPECT_EQ(out.read<uint32_t>(32)[31], 31u);
}

TEST_F(Driver, WritesTheErrorLog) {
    char log[200] = "";
    int options[] = {5, 6};
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    void *module = nullptr;
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoadDataEx(&module, kernel("frobnicate;").c_str(), 2, options, values), 218);
    testing::internal::GetCapturedStderr();
    EXPECT_NE(std::string(log).find("frobnicate"), std::string::npos) << log;
}

TEST_F(Driver, HasStreamsAndEvents) {
    void *stream = nullptr, *start = nullptr, *end = nullptr;
    float milliseconds = -1;
    EXPECT_EQ(cuStreamCreate(&stream, 0), 0);
    EXPECT_EQ(cuEventCreate(&start, 0), 0);
    EXPECT_EQ(cuEventCreate(&end, 0), 0);
    EXPECT_EQ(cuEventRecord(start, stream), 0);
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), 400);
    EXPECT_EQ(cuEventRecord(end, stream), 0);
    EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), 0);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cuStreamSynchronize(stream), 0);
    EXPECT_EQ(cuEventDestroy_v2(start), 0);
    EXPECT_EQ(cuEventDestroy_v2(end), 0);
    EXPECT_EQ(cuStreamDestroy_v2(stream), 0);
}

TEST_F(Driver, GivesEntryPointsByName) {
    void *entry = nullptr;
    int found = -1;
    EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &entry, 12000, 0, &found), 0);
    EXPECT_EQ(entry, reinterpret_cast<void *>(cuMemAlloc_v2));
    EXPECT_EQ(cuGetProcAddress_v2("cuNoSuch", &entry, 12000, 0, &found), 500);
    EXPECT_EQ(found, 1);
}

/** A fat binary as fatbinary(1) lays it out; kinds 1 are PTX. */
class FatBinary {
public:
    FatBinary() {
        put<uint32_t>(0xBA55ED50);
        put<uint16_t>(1);
        put<uint16_t>(16);
        put<uint64_t>(0);
    }
    void add(uint16_t kind, uint32_t architecture, std::string payload, bool compressed = false) {
        payload.resize((payload.size() + 8) / 8 * 8);
        const size_t start = bytes.size();
        const uint32_t header = kind == 1 ? 80 : 64;
        put<uint16_t>(kind);
        put<uint16_t>(0x101);
        put<uint32_t>(header);
        put<uint64_t>(payload.size());
        bytes.resize(start + 28);
        put<uint32_t>(architecture);
        bytes.resize(start + 40);
        put<uint64_t>(compressed ? 0x8011 : 0x11);
        bytes.resize(start + header);
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        const uint64_t size = bytes.size() - 16;
        std::memcpy(&bytes[8], &size, 8);
    }
    const void *data() const { return bytes.data(); }

private:
    std::vector<uint8_t> bytes;
    template <class T> void put(T value) {
        bytes.resize(bytes.size() + sizeof value);
        std::memcpy(&bytes[bytes.size() - sizeof value], &value, sizeof value);
    }
};

static std::string named(const std::string &target, const std::string &name) {
    return ".version 8.0\n.target " + target + "\n.address_size 64\n.visible .entry " + name + "()\n{\nret;\n}\n";
}

TEST_F(Driver, ReadsFatBinaries) {
    FatBinary binary;
    binary.add(1, 75, named("sm_75", "older"));
    binary.add(2, 90,
               "\x7f"
               "ELF");
    binary.add(1, 80, named("sm_80", "newer"));
    binary.add(1, 100, named("sm_100", "newest"));
    void *module = nullptr, *function = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, binary.data()), 0);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "newer"), 0);
    EXPECT_EQ(cuModuleGetFunction(&function, module, "older"), 500);
    EXPECT_EQ(cuModuleUnload(module), 0);

    FatBinary none;
    none.add(2, 90,
             "\x7f"
             "ELF");
    none.add(1, 80, "(compressed)", true);
    testing::internal::CaptureStderr();
    EXPECT_EQ(cuModuleLoadData(&module, none.data()), 209);
    EXPECT_EQ(cuModuleLoadData(&module, "\x7f"
                                        "ELF"),
              209);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("not compressed"), std::string::npos);
}

} // namespace attune::test
