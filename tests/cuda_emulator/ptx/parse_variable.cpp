#include "parse_variable.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace attune::emulator {

bool read_space(const std::string &directive, Space &space) {
    static const std::map<std::string, Space> spaces = {
        {".global", Space::global}, {".const", Space::constant}, {".shared", Space::shared}, {".local", Space::local}};
    const auto found = spaces.find(directive);
    if (found != spaces.end()) space = found->second;
    return found != spaces.end();
}

static uint64_t parse_unsigned(Cursor &cursor, int &float_bits) {
    const std::string word = cursor.take().text;
    const std::string prefix = word.substr(0, 2);
    try {
        if (prefix == "0f" || prefix == "0F" || prefix == "0d" || prefix == "0D") {
            float_bits = prefix == "0f" || prefix == "0F" ? 32 : 64;
            return std::stoull(word.substr(2), nullptr, 16);
        }
        if (word.find('.') != std::string::npos) {
            const double value = std::stod(word);
            uint64_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            float_bits = 64;
            return bits;
        }
        std::string digits = word;
        if (digits.back() == 'U') digits.pop_back();
        if (prefix == "0b") return std::stoull(digits.substr(2), nullptr, 2);
        return std::stoull(digits, nullptr, 0);
    } catch (const std::exception &) {
        throw cursor.error("expected a number, found \"" + word + "\"");
    }
}

uint64_t parse_number(Cursor &cursor, int &float_bits) {
    const bool negative = cursor.take_if("-");
    const uint64_t bits = parse_unsigned(cursor, float_bits);
    if (!negative) return bits;
    return float_bits == 0 ? 0 - bits : bits ^ (1ull << (float_bits - 1));
}

static void parse_values(Cursor &cursor, size_t bytes, std::vector<uint8_t> &values) {
    if (cursor.take_if("{")) {
        do {
            parse_values(cursor, bytes, values);
        } while (cursor.take_if(","));
        cursor.expect("}");
        return;
    }
    int float_bits = 0;
    uint64_t bits = parse_number(cursor, float_bits);
    if (float_bits == 64 && bytes == 4) {
        double wide;
        std::memcpy(&wide, &bits, sizeof wide);
        const float narrow = static_cast<float>(wide);
        std::memcpy(&bits, &narrow, sizeof narrow);
    }
    const auto *first = reinterpret_cast<const uint8_t *>(&bits);
    values.insert(values.end(), first, first + bytes);
}

static void parse_one(Cursor &cursor, uint64_t element, uint64_t align, Space space, bool is_extern,
                      std::map<std::string, Variable> &variables) {
    const std::string name = cursor.take().text;
    Variable variable;
    variable.space = space;
    variable.align = align;
    variable.is_extern = is_extern;
    variable.bytes = element;
    while (cursor.take_if("[")) {
        variable.bytes *= cursor.peek() == "]" ? 0 : cursor.take_number();
        cursor.expect("]");
    }
    if (cursor.take_if("=")) {
        parse_values(cursor, element, variable.initialiser);
        variable.bytes = std::max<uint64_t>(variable.bytes, variable.initialiser.size());
    }
    variables[name] = variable;
}

void parse_variables(Cursor &cursor, Space space, bool is_extern, std::map<std::string, Variable> &variables) {
    uint64_t align = 0, vector = 1;
    if (cursor.take_if(".align")) align = cursor.take_number();
    if (cursor.take_if(".v2")) vector = 2;
    if (cursor.take_if(".v4")) vector = 4;
    Type type;
    const std::string word = cursor.take().text;
    if (!read_type(word.substr(1), type)) throw cursor.error("expected a type, found \"" + word + "\"");
    const uint64_t element = static_cast<uint64_t>(type.bits) / 8;
    do {
        parse_one(cursor, element, std::max(align, element * vector), space, is_extern, variables);
        if (vector > 1) throw cursor.error("the emulator knows no vector variables");
    } while (cursor.take_if(","));
    cursor.expect(";");
}

} // namespace attune::emulator
