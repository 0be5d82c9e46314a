#include "module.h"

#include <cstring>

namespace attune::ptx {

namespace {

/** Whether `text` holds `word` between two of `separators`, or at an end. */
bool contains_word(const std::string &text, const std::string &word, const char *separators) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const size_t end = at + word.size();
        const bool begins = at == 0 || std::strchr(separators, text[at - 1]);
        if (begins && (end == text.size() || std::strchr(separators, text[end]))) return true;
    }
    return false;
}

} // namespace

bool Variable::has(const std::string &word) const { return contains_word(attributes, word, " "); }

bool Instruction::is(const char *prefix) const {
    const size_t length = std::strlen(prefix);
    return opcode.compare(0, length, prefix) == 0 && (opcode.size() == length || opcode[length] == '.');
}

bool Instruction::has(const char *word) const { return contains_word(opcode, word, ".:"); }

} // namespace attune::ptx
