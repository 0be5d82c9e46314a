// A text that is refused: at which column, and what its sentence names.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace attune::text {

struct Refused {
    const char *text;
    int32_t column;
    const char *part; // of the sentence
};

inline std::ostream &operator<<(std::ostream &out, const Refused &refused) { return out << '"' << refused.text << '"'; }

template <typename Result> void expect_refused(const Result &result, const Refused &refused) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.column, refused.column) << result.error;
    EXPECT_EQ(result.error.find("column " + std::to_string(refused.column) + ": "), 0u) << result.error;
    EXPECT_NE(result.error.find(refused.part), std::string::npos) << result.error;
}

} // namespace attune::text
