#include "mask_text.h"

#include <cctype>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace attune::test {
namespace {

/** Recursive descent straight to closures: | below & below ! below terms. */
class Reader {
public:
    Reader(const std::string &text, int64_t queries, int64_t keys, std::optional<int64_t> offset, const MaskData &data)
        : text_(text), queries_(queries), keys_(keys), offset_(offset), data_(data) {}

    CellPredicate whole() {
        CellPredicate mask = either();
        if (!rest().empty()) fail();
        return mask;
    }

private:
    CellPredicate either() {
        CellPredicate left = both();
        while (take("|"))
            left = [left, right = both()](int64_t i, int64_t j) { return left(i, j) || right(i, j); };
        return left;
    }
    CellPredicate both() {
        CellPredicate left = factor();
        while (take("&"))
            left = [left, right = factor()](int64_t i, int64_t j) { return left(i, j) && right(i, j); };
        return left;
    }
    CellPredicate factor() {
        if (take("!")) return [inner = factor()](int64_t i, int64_t j) { return !inner(i, j); };
        if (!take("(")) return term();
        CellPredicate inner = either();
        expect(")");
        return inner;
    }
    CellPredicate term() {
        if (take("none")) return [](int64_t, int64_t) { return true; };
        if (take("causal")) return causal();
        if (take("window")) return window();
        if (take("prefix")) return prefix();
        if (take("dilated")) return dilated();
        if (take("strided")) return strided();
        if (take("blocks")) return blocks();
        if (take("documents"))
            return [data = data_](int64_t i, int64_t j) { return data.query_documents.at(i) == data.key_documents.at(j); };
        if (take("lengths")) return [length = data_.length](int64_t, int64_t j) { return j < length; };
        if (take("tensor")) return data_.tensor;
        fail();
    }
    CellPredicate causal() {
        int64_t offset = 0;
        if (take("(")) {
            offset = alignment();
            expect(")");
        } else
            offset = unnamed_alignment();
        // Written with j - i on one side, so that no offset overflows.
        return [offset](int64_t i, int64_t j) { return j - i <= offset; };
    }
    CellPredicate window() {
        expect("(");
        const int64_t left = number();
        expect(",");
        const int64_t right = number();
        const int64_t offset = take(",") ? alignment() : unnamed_alignment();
        expect(")");
        return [=](int64_t i, int64_t j) {
            const long double distance = static_cast<long double>(j - i) - offset; // exact: 64 bits of mantissa
            return (left < 0 || distance >= -static_cast<long double>(left)) && (right < 0 || distance <= right);
        };
    }
    CellPredicate prefix() {
        expect("(");
        const int64_t length = number();
        expect(")");
        return [length](int64_t, int64_t j) { return j < length; };
    }

    CellPredicate dilated() {
        expect("(");
        const int64_t step = number();
        const int64_t offset = take(",") ? alignment() : unnamed_alignment();
        expect(")");
        return [=](int64_t i, int64_t j) { return std::fmod(static_cast<long double>(i - j) + offset, step) == 0; };
    }
    CellPredicate strided() {
        expect("(");
        const int64_t step = number(), width = take(",") ? number() : 1;
        expect(")");
        return [=](int64_t, int64_t j) { return j - j / step * step < width; };
    }
    CellPredicate blocks() {
        expect("(");
        const int64_t rows = number();
        expect(",");
        const int64_t columns = number();
        expect(")");
        return [=, block = data_.block](int64_t i, int64_t j) { return block(i / rows, j / columns); };
    }

    int64_t alignment() {
        if (take("top_left")) return 0;
        if (take("bottom_right")) return keys_ - queries_;
        fail();
    }
    int64_t unnamed_alignment() const {
        if (!offset_ && queries_ != keys_) throw std::invalid_argument("no alignment in: " + text_);
        return offset_.value_or(0);
    }
    int64_t number() {
        const std::string digits = rest();
        size_t used = 0;
        const int64_t value = std::stoll(digits, &used);
        place_ += used;
        return value;
    }
    std::string rest() {
        while (place_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[place_])))
            place_++;
        return text_.substr(place_);
    }
    bool take(const std::string &word) {
        if (rest().compare(0, word.size(), word) != 0) return false;
        place_ += word.size();
        return true;
    }
    void expect(const std::string &word) {
        if (!take(word)) fail();
    }
    [[noreturn]] void fail() const { throw std::invalid_argument("no mask: " + text_); }

    const std::string text_;
    const int64_t queries_, keys_;
    const std::optional<int64_t> offset_;
    const MaskData &data_;
    size_t place_ = 0;
};

} // namespace

CellPredicate mask_from_text(const std::string &text, int64_t queries, int64_t keys, std::optional<int64_t> offset, const MaskData &data) {
    return Reader(text, queries, keys, offset, data).whole();
}

} // namespace attune::test
