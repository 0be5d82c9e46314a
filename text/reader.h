// What the parsers of masks, scores and positions share: one token at a time, numbers within their limits, and the first error.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "tokens.h"

namespace attune::text {

inline constexpr size_t max_text_length = 4096; // characters

struct IntegerLimit {
    int64_t least;
    int64_t most = std::numeric_limits<int64_t>::max();
    const char *remark = ""; // ends the sentence "... must be -1 or more"
};

struct RealLimit {
    double least;
    bool least_included;
    const char *text; // "a number above 0"
};

/** A base of recursive descent over one text. The first error stays, and ends the parse: every function that reads returns false once there
 * is one. */
class Reader {
protected:
    /** `subject` is what the text is: "mask". */
    Reader(std::string_view text, const char *subject) : text_(text), subject_(subject) { advance(); }

    void advance() { token_ = next_token(text_, position_); }

    /** Notes that the sentence is wrong at `column`. Returns false. */
    bool fail(int32_t column, const std::string &sentence);
    /** The same, of the token at hand. */
    bool fail(const std::string &sentence) { return fail(token_.column, sentence); }

    /** The token at hand, as messages show it: "'causal'" or "the end". */
    std::string shown() const;

    /** Refuses a text that is too long or has nothing in it. */
    bool check_text();
    /** Whether the text is the word none; refuses what follows it. */
    bool read_none();

    bool expect(char sign, const std::string &where);
    /** Passes over the sign, if it is at hand. */
    bool skip(char sign);

    bool read_integer(int64_t &value, const std::string &subject, const IntegerLimit &limit);
    bool read_integer(int32_t &value, const std::string &subject, int32_t least);
    bool read_real(double &value, const std::string &subject, const RealLimit &limit);

    const char *subject() const { return subject_; }
    const Token &token() const { return token_; }
    const std::string &error() const { return error_; }
    int32_t error_column() const { return error_column_; }

private:
    std::string_view text_;
    const char *subject_;
    size_t position_ = 0;
    Token token_;
    std::string error_;
    int32_t error_column_ = 0;
};

} // namespace attune::text
