#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "error.h"
#include "npy.h"

namespace attune::tools {
namespace {

/** Reads the few forms of Python literal a header holds. Every function skips leading blanks. */
class Literal {
public:
    Literal(std::string_view text, const std::string &file) : rest_(text), file_(file) {}

    [[noreturn]] void malformed(std::string_view expected) const {
        bad_argument("{} has a malformed .npy header: expected {}", file_, expected);
    }

    bool accept(std::string_view token) {
        skip_blanks();
        if (rest_.substr(0, token.size()) != token) return false;
        rest_.remove_prefix(token.size());
        return true;
    }
    void expect(std::string_view token) {
        if (!accept(token)) malformed(fmt::format("'{}'", token));
    }
    bool at_end() {
        skip_blanks();
        return rest_.empty();
    }
    std::string string() {
        const char quote = accept("'") ? '\'' : accept("\"") ? '"' : '\0';
        const std::size_t end = quote ? rest_.find(quote) : std::string_view::npos;
        if (end == std::string_view::npos) malformed("a string (a structured type can't be read)");
        std::string value(rest_.substr(0, end));
        rest_.remove_prefix(end + 1);
        return value;
    }
    bool boolean() {
        if (accept("True")) return true;
        if (!accept("False")) malformed("True or False");
        return false;
    }
    int64_t extent() {
        skip_blanks();
        int64_t value = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (error == std::errc::result_out_of_range) bad_argument("{} has an extent past 2^63 - 1", file_);
        if (error != std::errc() || value < 0) malformed("an extent of at least 0");
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        accept("L"); // Python 2 wrote (3L, 4L)
        return value;
    }
    Shape shape() {
        Shape extents;
        expect("(");
        while (!accept(")")) {
            extents.push_back(extent());
            if (accept(",")) continue;
            expect(")");
            break;
        }
        return extents;
    }

private:
    void skip_blanks() {
        while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())))
            rest_.remove_prefix(1);
    }

    std::string_view rest_;
    const std::string &file_;
};

} // namespace

NpyHeader parse_npy_header(std::string_view dictionary, const std::string &file) {
    Literal literal(dictionary, file);
    std::optional<std::string> descr;
    std::optional<bool> fortran_order;
    std::optional<Shape> shape;
    literal.expect("{");
    while (!literal.accept("}")) {
        const std::string key = literal.string();
        literal.expect(":");
        if (key == "descr")
            descr = literal.string();
        else if (key == "fortran_order")
            fortran_order = literal.boolean();
        else if (key == "shape")
            shape = literal.shape();
        else
            literal.malformed("the keys descr, fortran_order and shape only");
        if (literal.accept(",")) continue;
        literal.expect("}");
        break;
    }
    if (!literal.at_end()) literal.malformed("nothing after the dictionary");
    if (!descr || !fortran_order || !shape) literal.malformed("all of descr, fortran_order and shape");
    return {*descr, *fortran_order, *shape};
}

std::string_view npy_descr(attune_type type) {
    switch (type) {
    case ATTUNE_F32:
        return "<f4";
    case ATTUNE_F16:
        return "<f2";
    case ATTUNE_I32:
        return "<i4";
    case ATTUNE_I64:
        return "<i8";
    case ATTUNE_BOOL:
        return "|b1";
    case ATTUNE_BF16:
        return "<u2";
    case ATTUNE_I8:
        return "|i1";
    }
    return "a type .npy has no name for";
}

std::string npy_header(attune_type type, const Shape &shape) {
    std::string extents;
    for (int64_t extent : shape)
        extents += fmt::format("{}, ", extent);
    std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", npy_descr(type), extents);
    constexpr std::size_t preamble = 10, alignment = 64; // magic 6, version 2, length 2
    dictionary.append(alignment - 1 - (preamble + dictionary.size()) % alignment, ' ');
    dictionary += '\n';
    const auto length = static_cast<unsigned>(dictionary.size());
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(length & 0xff);
    header += static_cast<char>(length >> 8);
    return header + dictionary;
}

} // namespace attune::tools
