#include "reader.h"

#include <charconv>

namespace attune::text {

bool Reader::fail(int32_t column, const std::string &sentence) {
    if (error_.empty()) {
        error_column_ = column;
        error_ = "column " + std::to_string(column) + ": " + sentence;
    }
    return false;
}

std::string Reader::shown() const { return token_.kind == TokenKind::end ? "the end" : "'" + std::string(token_.text.substr(0, 40)) + "'"; }

bool Reader::check_text() {
    const std::string subject = std::string("the ") + subject_;
    if (text_.size() > max_text_length)
        return fail(1, subject + " has " + std::to_string(text_.size()) + " characters; it may have " + std::to_string(max_text_length));
    if (token_.kind == TokenKind::end) return fail(1, subject + " is empty; write none for no " + subject_);
    return true;
}

bool Reader::read_none() {
    if (!token_.is("none")) return false;
    advance();
    if (token_.kind != TokenKind::end) fail("none stands alone; it is followed by " + shown());
    return true;
}

bool Reader::expect(char sign, const std::string &where) {
    if (!token_.is(sign)) return fail(std::string("'") + sign + "' is missing " + where + ", before " + shown());
    advance();
    return true;
}

bool Reader::skip(char sign) {
    const bool there = token_.is(sign);
    if (there) advance();
    return there;
}

bool Reader::read_integer(int64_t &value, const std::string &subject, const IntegerLimit &limit) {
    const std::string is = subject + " is " + shown() + "; it must ";
    if (token_.kind != TokenKind::integer) return fail(is + "be an integer");
    const auto [end, problem] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
    if (problem != std::errc()) return fail(is + "fit in 64 bits");
    if (value < limit.least) return fail(is + "be " + std::to_string(limit.least) + " or more" + limit.remark);
    if (value > limit.most) return fail(is + "be " + std::to_string(limit.most) + " or less");
    advance();
    return true;
}

bool Reader::read_integer(int32_t &value, const std::string &subject, int32_t least) {
    int64_t wide = 0;
    if (!read_integer(wide, subject, {least, std::numeric_limits<int32_t>::max()})) return false;
    value = static_cast<int32_t>(wide);
    return true;
}

bool Reader::read_real(double &value, const std::string &subject, const RealLimit &limit) {
    const std::string must = subject + " is " + shown() + "; it must be " + limit.text;
    if (token_.kind != TokenKind::integer && token_.kind != TokenKind::real) return fail(must);
    // The C library's strtod depends on the locale.
    const auto [end, problem] = std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
    if (problem != std::errc()) return fail(must + ", in the range of a double");
    if (value < limit.least || (value == limit.least && !limit.least_included)) return fail(must);
    advance();
    return true;
}

} // namespace attune::text
