// Memory in pages of its own.
#include "runtime/src/kernel/page_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace attune::runtime::page_memory_test {
namespace {

constexpr size_t huge_page = size_t{1} << 21;

bool at_multiple_of(const PageMemory &memory, size_t unit) { return reinterpret_cast<uintptr_t>(memory.data()) % unit == 0; }

/** The kernel's flags of the mapping that an address lies in: "rd wr ... hg" where huge pages are wished for. */
std::string flags_of(const void *address) {
    std::ifstream maps("/proc/self/smaps");
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
        uintptr_t first = 0, end = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &end) == 2) inside = wanted >= first && wanted < end;
        if (inside && line.rfind("VmFlags:", 0) == 0) return line;
    }
    return "";
}

TEST(PageMemory, IsZerosAtALine) {
    for (const size_t bytes : {size_t{1}, size_t{4097}, huge_page - 1, huge_page, 3 * huge_page + 5}) {
        PageMemory memory;
        ASSERT_TRUE(memory.allocate(bytes));
        EXPECT_TRUE(at_multiple_of(memory, bytes < huge_page ? 64 : huge_page)) << bytes;
        EXPECT_TRUE(std::all_of(memory.data(), memory.data() + bytes, [](char byte) { return byte == 0; })) << bytes;
        std::fill_n(memory.data(), bytes, '\1');
    }
}

TEST(PageMemory, OfMuchAsksForHugePages) {
    if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "this system has no transparent huge pages";
    PageMemory much, little;
    ASSERT_TRUE(much.allocate(3 * huge_page) && little.allocate(1000));
    EXPECT_NE(flags_of(much.data()).find(" hg"), std::string::npos) << flags_of(much.data());
    EXPECT_EQ(flags_of(little.data()).find(" hg"), std::string::npos) << flags_of(little.data());
}

TEST(PageMemory, MovesAndGoes) {
    PageMemory first;
    ASSERT_TRUE(first.allocate(huge_page));
    first.data()[7] = 'x';
    const char *const data = first.data();
    {
        const PageMemory second = std::move(first);
        EXPECT_EQ(second.data(), data);
        EXPECT_EQ(second.data()[7], 'x');
    }
    EXPECT_EQ(first.data(), nullptr); // NOLINT: what a move leaves is specified
    EXPECT_EQ(flags_of(data), "");
}

TEST(PageMemory, RefusesWhatNobodyHas) {
    PageMemory memory;
    EXPECT_FALSE(memory.allocate(SIZE_MAX));
    EXPECT_FALSE(memory.allocate(SIZE_MAX / 4));
    EXPECT_EQ(memory.data(), nullptr);
}

} // namespace
} // namespace attune::runtime::page_memory_test
