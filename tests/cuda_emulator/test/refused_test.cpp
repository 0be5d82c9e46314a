// What the emulator refuses to load or launch, and how it says so.
#include "kernel.h"

namespace attune::test {

using Refused = EmulatorTest;

TEST_F(Refused, UnknownInstructions) {
    refuses("frobnicate.u32 %r1, %r0;", 218, "the emulator does not know frobnicate");
    refuses("add.rz.f32 %r1, %r0, %r0;", 218, "does not know .rz here");
    refuses("call foo;", 218, "does not know call");
    refuses("mov.u32 %r1, %nosuch;", 218, "%nosuch");
    refuses("mov.u32 %r1, nosuch;", 218, "there is no variable nosuch");
    refuses("bra NOWHERE;", 218, "there is no label NOWHERE");
    refuses("add.u32 %r1, %d1, %r0;", 218, "another width");
    refuses("add.u32 %undeclared, %r0, %r0;", 218, "expected a register");
    refuses("ld.param.u64 %d4, [nosuch];", 218, "there is no parameter nosuch");
}

TEST_F(Refused, BrokenText) {
    std::string printed;
    EXPECT_EQ(launch("no PTX at all", {}, {}, printed), 218);
    EXPECT_NE(printed.find("PTX line 1"), std::string::npos) << printed;
    EXPECT_EQ(launch(kernel("add.u32 %r1, %r0"), {}, {}, printed), 218);
    EXPECT_EQ(launch(kernel("{"), {}, {}, printed), 218);
    EXPECT_NE(printed.find("ends too early"), std::string::npos) << printed;
}

TEST_F(Refused, OtherArchitectures) {
    std::string printed;
    EXPECT_EQ(launch(".version 8.7\n.target sm_100\n.address_size 64\n", {}, {}, printed), 209);
    EXPECT_NE(printed.find("architecture 100"), std::string::npos) << printed;
}

static std::string with_threads(const std::string &directive) {
    return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n" + directive + "\n{\nret;\n}\n";
}

TEST_F(Refused, BlocksThatAreTooLarge) {
    std::string printed;
    EXPECT_EQ(launch(with_threads(""), {1, 1024, 0}, {}, printed), 0);
    EXPECT_EQ(launch(with_threads(""), {1, 1025, 0}, {}, printed), 1);
    EXPECT_NE(printed.find("not 1 to 1024"), std::string::npos) << printed;
    EXPECT_EQ(launch(with_threads(".maxntid 64, 1, 1"), {1, 64, 0}, {}, printed), 0);
    EXPECT_EQ(launch(with_threads(".maxntid 64, 1, 1"), {1, 96, 0}, {}, printed), 1);
    EXPECT_NE(printed.find("above .maxntid 64 x 1 x 1"), std::string::npos) << printed;
    EXPECT_EQ(launch(with_threads(".reqntid 64"), {1, 32, 0}, {}, printed), 1);
}

TEST_F(Refused, TooMuchSharedMemory) {
    const LoadedModule module(with_threads(""));
    void *function = module.function("k");
    const auto start = [&](unsigned shared) { return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, shared, nullptr, nullptr, nullptr); };
    EXPECT_EQ(start(48 << 10), 0);
    testing::internal::CaptureStderr();
    EXPECT_EQ(start(64 << 10), 1);
    EXPECT_EQ(cuFuncSetAttribute(function, 8, 228 << 10), 1);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("cuFuncSetAttribute raises it"), std::string::npos);
    EXPECT_EQ(cuFuncSetAttribute(function, 8, 227 << 10), 0);
    EXPECT_EQ(start(227 << 10), 0);
}

TEST_F(Refused, ReadsOfRegistersNeverWritten) {
    setenv("ATTUNE_EMULATOR_UNINITIALISED", "1", 1);
    refuses("add.u32 %r1, %r0, %r9;", 719, "never written");
    refuses("setp.lt.u32 %p1, %r0, 5; @%p1 mov.u32 %r1, 1; st.global.u32 [%d3], %r1;", 719, "never written");
    run("setp.lt.u32 %p1, %r0, 5; @%p1 mov.u32 %r1, 1; @!%p1 mov.u32 %r1, 2; st.global.u32 [%d3], %r1;", {}, 32);
    unsetenv("ATTUNE_EMULATOR_UNINITIALISED");
}

TEST_F(Refused, Traps) { refuses("trap;", 719, "traps"); }

TEST_F(Refused, EverythingAfterAFailure) {
    void *own = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&own, 0, 0), 0);
    {
        const DeviceBuffer buffer(64);
        std::string printed;
        EXPECT_EQ(launch(kernel("st.global.u32 [%d1+4096], %r0;"), {}, {buffer.address, buffer.address}, printed), 700);
        uint32_t word = 0;
        testing::internal::CaptureStderr();
        EXPECT_EQ(cuMemcpyDtoH_v2(&word, buffer.address, 4), 700);
        EXPECT_EQ(cuCtxSynchronize(), 700);
        EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); // the reason was printed once
    }
    cuCtxDestroy_v2(own);
    EXPECT_EQ(cuCtxSynchronize(), 0); // another context is sound
}

} // namespace attune::test
