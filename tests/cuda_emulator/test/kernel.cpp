#include "kernel.h"

namespace attune::test {

DeviceBuffer::DeviceBuffer(size_t bytes) { EXPECT_EQ(cuMemAlloc_v2(&address, bytes), 0); }
DeviceBuffer::DeviceBuffer(const void *data, size_t bytes) : DeviceBuffer(bytes) { EXPECT_EQ(cuMemcpyHtoD_v2(address, data, bytes), 0); }
DeviceBuffer::~DeviceBuffer() { cuMemFree_v2(address); }

LoadedModule::LoadedModule(const std::string &ptx) { EXPECT_EQ(cuModuleLoadData(&module, ptx.c_str()), 0); }
LoadedModule::~LoadedModule() { cuModuleUnload(module); }
void *LoadedModule::function(const char *name) const {
    void *found = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&found, module, name), 0);
    return found;
}

void EmulatorTest::SetUp() {
    ASSERT_EQ(cuInit(0), 0);
    ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
}
void EmulatorTest::TearDown() { cuCtxDestroy_v2(context); }

std::string EmulatorTest::kernel(const std::string &body, const std::string &before) {
    return ".version 8.0\n.target sm_90a\n.address_size 64\n" + before +
           "\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
           ".reg .pred %p<64>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %d<64>;\n"
           "ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out]; mov.u32 %r0, %tid.x;\n"
           "mad.wide.u32 %d2, %r0, 4, %d0; mad.wide.u32 %d3, %r0, 4, %d1;\n" +
           body + "\nret;\n}\n";
}

std::vector<uint32_t> EmulatorTest::run(const std::string &body, const std::vector<uint32_t> &in, size_t count, Shape shape,
                                        const std::string &before) {
    const DeviceBuffer input(in.empty() ? &count : static_cast<const void *>(in.data()), std::max<size_t>(in.size() * 4, 4)),
        output(count * 4);
    std::string printed;
    EXPECT_EQ(launch(kernel(body, before), shape, {input.address, output.address}, printed), 0) << printed;
    return output.read<uint32_t>(count);
}

template <class T> static std::string case_body(const std::string &body, size_t count, const char *load, const char *store,
                                                const char *result, std::initializer_list<const char *> registers) {
    const std::string size = std::to_string(sizeof(T));
    std::string text = "mad.wide.u32 %d2, %r0, " + size + ", %d0; mad.wide.u32 %d3, %r0, " + size + ", %d1;\n";
    size_t offset = 0;
    for (const char *name : registers) {
        text += load + std::string(name) + ", [%d2+" + std::to_string(offset) + "];\n";
        offset += count * sizeof(T);
    }
    return text + body + "\n" + store + " [%d3], " + result + ";";
}

template <class T> static std::vector<uint32_t> join(std::vector<T> a, std::vector<T> b, std::vector<T> c) {
    const size_t count = a.size();
    b.resize(count);
    c.resize(count);
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    std::vector<uint32_t> words(a.size() * sizeof(T) / 4);
    std::memcpy(words.data(), a.data(), a.size() * sizeof(T));
    return words;
}

std::vector<uint32_t> EmulatorTest::words(const std::string &body, const std::vector<uint32_t> &a, const std::vector<uint32_t> &b,
                                          const std::vector<uint32_t> &c) {
    const std::string text = case_body<uint32_t>(body, a.size(), "ld.global.u32 ", "st.global.u32", "%r10", {"%r1", "%r2", "%r3"});
    return run(text, join(a, b, c), a.size(), {1, static_cast<unsigned>(a.size()), 0});
}

std::vector<uint64_t> EmulatorTest::doubles(const std::string &body, const std::vector<uint64_t> &a, const std::vector<uint64_t> &b,
                                            const std::vector<uint64_t> &c) {
    const std::string text = case_body<uint64_t>(body, a.size(), "ld.global.u64 ", "st.global.u64", "%d10", {"%d11", "%d12", "%d13"});
    const std::vector<uint32_t> result = run(text, join(a, b, c), a.size() * 2, {1, static_cast<unsigned>(a.size()), 0});
    std::vector<uint64_t> values(a.size());
    std::memcpy(values.data(), result.data(), values.size() * 8);
    return values;
}

static std::vector<uint32_t> all_bits(const std::vector<float> &values) {
    std::vector<uint32_t> bits;
    for (const float value : values)
        bits.push_back(bits_of(value));
    return bits;
}

std::vector<float> EmulatorTest::floats(const std::string &body, const std::vector<float> &a, const std::vector<float> &b,
                                        const std::vector<float> &c) {
    std::vector<float> values;
    for (const uint32_t bits : words(body, all_bits(a), all_bits(b), all_bits(c)))
        values.push_back(float_of(bits));
    return values;
}

int EmulatorTest::launch(const std::string &ptx, Shape shape, const std::vector<unsigned long long> &arguments, std::string &printed) {
    testing::internal::CaptureStderr();
    void *module = nullptr, *function = nullptr;
    int result = cuModuleLoadData(&module, ptx.c_str());
    if (result == 0) result = cuModuleGetFunction(&function, module, "k");
    if (result == 0 && shape.shared > 48 * 1024) result = cuFuncSetAttribute(function, 8, static_cast<int>(shape.shared));
    std::vector<unsigned long long> values = arguments;
    std::vector<void *> pointers;
    for (auto &value : values)
        pointers.push_back(&value);
    if (result == 0)
        result = cuLaunchKernel(function, shape.blocks, 1, 1, shape.threads, 1, 1, shape.shared, nullptr, pointers.data(), nullptr);
    if (module != nullptr) cuModuleUnload(module);
    printed = testing::internal::GetCapturedStderr();
    return result;
}

void EmulatorTest::refuses(const std::string &body, int result, const std::string &text, Shape shape, const std::string &before) {
    void *own = nullptr; // what fails spoils it
    ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), 0);
    const std::vector<uint32_t> zeros(4096);
    std::string printed;
    {
        const DeviceBuffer in(zeros.data(), zeros.size() * 4), out(zeros.size() * 4);
        EXPECT_EQ(launch(kernel(body, before), shape, {in.address, out.address}, printed), result) << printed;
    }
    cuCtxDestroy_v2(own);
    EXPECT_NE(printed.find(text), std::string::npos) << "printed: " << printed;
    EXPECT_NE(printed.find("PTX line"), std::string::npos) << "printed: " << printed;
}

} // namespace attune::test
