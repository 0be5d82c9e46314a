// The container of device code.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "generators/ptx/fatbin.h"
#include "ptxas.h"
#include "snippets.h"

namespace attune::ptx::fatbin_test {
namespace {

TEST(Fatbin, DescribesPtx) {
    const std::string ptx = ".version 8.3\n.target sm_90a\n";
    const std::string bytes = make_fatbin({{Image::Kind::ptx, "sm_90a", ptx}});
    ASSERT_EQ(bytes.size(), 16u + 80 + 32); // with its zero byte the text takes 29 bytes
    EXPECT_EQ(number_at(bytes, 4, 2), 1u);
    EXPECT_EQ(number_at(bytes, 6, 2), 16u);
    EXPECT_EQ(number_at(bytes, 8, 8), 112u);
    EXPECT_EQ(number_at(bytes, 16, 2), 1u);
    EXPECT_EQ(number_at(bytes, 20, 4), 80u);
    EXPECT_EQ(number_at(bytes, 24, 8), 32u);
    EXPECT_EQ(number_at(bytes, 40, 2), 3u); // .version 8.3
    EXPECT_EQ(number_at(bytes, 42, 2), 8u);
    EXPECT_EQ(number_at(bytes, 44, 4), 90u);
    EXPECT_EQ(number_at(bytes, 56, 8), 0x100011u);
    EXPECT_EQ(bytes.substr(96), ptx + std::string(4, '\0'));
}

TEST(Fatbin, RefusesWhatIsNoImage) {
    EXPECT_THROW(make_fatbin({{Image::Kind::cubin, "sm_80", "no ELF"}}), Error);
    EXPECT_THROW(make_fatbin({{Image::Kind::ptx, "sm_80", "no version"}}), Error);
    EXPECT_THROW(make_fatbin({{Image::Kind::ptx, "compute_80", ".version 8.0\n"}}), Error);
    EXPECT_THROW(make_fatbin({{Image::Kind::ptx, "sm_90x", ".version 8.0\n"}}), Error);
}

std::string read(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Fatbin, IsWhatFatbinaryWrites) {
    NEEDS_PTXAS();
    const std::filesystem::path program = std::filesystem::path(ptxas).parent_path() / "fatbinary";
    if (!std::filesystem::exists(program)) GTEST_SKIP() << "there is no fatbinary beside ptxas";
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune-fatbin-test";
    std::filesystem::create_directories(folder);
    std::string ptx = rewrite(kernel("st.global.b32 [%rd1], %r1;"), {});
    ptx.erase(std::remove(ptx.begin(), ptx.end(), '\t'), ptx.end());
    std::vector<KernelFigures> figures;
    const std::string cubin = make_cubin(ptx, "sm_86", with_ptxas(), figures);
    std::ofstream(folder / "k.ptx", std::ios::binary) << ptx;
    std::ofstream(folder / "k.cubin", std::ios::binary) << cubin;
    const std::string in = (folder / "k.").string();
    const std::string command = "'" + program.string() + "' -64 --compress=false '--create=" + in +
                                "fatbin' '--image3=kind=elf,sm=86,file=" + in + "cubin' '--image3=kind=ptx,sm=80,file=" + in + "ptx'";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    EXPECT_TRUE(make_fatbin({{Image::Kind::cubin, "sm_86", cubin}, {Image::Kind::ptx, "sm_80", ptx}}) == read(folder / "k.fatbin"));
    std::filesystem::remove_all(folder);
}

} // namespace
} // namespace attune::ptx::fatbin_test
