// Skips a program's tests where ATTUNE_CPU asks for a CPU class that this CPU has not: they would be those of the machine's own class once
// more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "attune/attune.h"

namespace {

class ClassAsked : public testing::Environment {
    void SetUp() override {
        const char *asked = std::getenv("ATTUNE_CPU");
        if (asked && std::string_view(asked) != attune_cpu_class())
            GTEST_SKIP() << "skipped: this CPU has no " << asked << "; its class is " << attune_cpu_class();
    }
};

const testing::Environment *const class_asked = testing::AddGlobalTestEnvironment(new ClassAsked);

} // namespace
