// attune_describe DIR NAME SCHEDULE TARGETS DTYPE HEAD_DIM VALUE_DIM DEVICE WORD_CHANNELS MASK SCORE POSITION [PARAMETER...]
//
// Writes DIR/NAME_kernel.h and DIR/NAME_kernel.cpp: the attune_kernel descriptor of a kernel made by attune_add_kernel. The names
// of its run-time parameters are those of the mask, or PARAMETERs where the mask is written in C++ (MASK is ""). Exit 1, with a sentence
// on stderr, where MASK, SCORE or POSITION isn't one, or HEAD_DIM channels can't be rotated so.
#include "text/mask.h"
#include "text/position.h"
#include "text/score.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace {

struct Kernel {
    std::string name, schedule, targets, dtype, head_dim, value_dim, device, word_channels, mask, score, position;
    std::vector<std::string> parameters;
};

/** A text that was parsed, as a C++ string literal: it holds no quotes, but may run over several lines. */
std::string literal(std::string text) {
    const auto is_control = [](char c) { return c == '\n' || c == '\r' || c == '\t'; };
    std::replace_if(text.begin(), text.end(), is_control, ' ');
    return "\"" + text + "\"";
}

std::string header(const Kernel &kernel) {
    return "// Written by attune_add_kernel: describes " + kernel.name + " to attune_attention_desc::kernel.\n#pragma once\n\n" +
           "#include \"attune/attune.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nextern const attune_kernel " + kernel.name +
           "_kernel;\n#ifdef __cplusplus\n}\n#endif\n";
}

std::string source(const Kernel &kernel) {
    std::string names;
    for (const std::string &parameter : kernel.parameters)
        names += "\"" + parameter + "\", ";
    const std::string entry = kernel.name + "_argv";
    return "#include \"" + kernel.name + "_kernel.h\"\n\nextern \"C\" int " + entry + "(void **);\n\nnamespace {\n" +
           "const char *const parameters[] = {" + names + "nullptr};\n} // namespace\n\nconst attune_kernel " + kernel.name +
           "_kernel = {\n    sizeof(attune_kernel), \"" + kernel.name + "\", \"attention\", \"" + kernel.schedule + "\",\n    \"" +
           kernel.targets + "\",\n    ATTUNE_" + kernel.dtype + ", ATTUNE_" + kernel.dtype + ", " + kernel.head_dim + ", " +
           kernel.value_dim + ",\n    " + literal(kernel.mask) + ", " + literal(kernel.score) + ", " + literal(kernel.position) +
           ",\n    " + std::to_string(kernel.parameters.size()) + ", parameters, " + entry + ",\n    ATTUNE_" + kernel.device + ", " +
           kernel.word_channels + "};\n";
}

bool write(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) std::fprintf(stderr, "attune_describe: can't write %s: %s\n", path.c_str(), std::strerror(errno));
    return bool(file);
}

/** "f32" as in attune_type's ATTUNE_F32. */
std::string upper(std::string text) {
    for (char &c : text)
        if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    return text;
}

/** Says on stderr what is wrong with the text, if anything is. */
template <typename Result> bool check(const Result &result, const Kernel &kernel, const char *keyword, const std::string &text) {
    if (!result.ok())
        std::fprintf(stderr, "attune_add_kernel(%s): %s \"%s\": %s\n", kernel.name.c_str(), keyword, text.c_str(), result.error.c_str());
    return result.ok();
}

bool check_mask(Kernel &kernel) {
    if (kernel.mask.empty()) return true;
    attune::text::ParseOptions options;
    options.allow_parameters = true;
    const attune::text::ParseResult parsed = attune::text::parse_mask(kernel.mask, options);
    kernel.parameters = parsed.mask.parameters;
    return check(parsed, kernel, "MASK", kernel.mask);
}

/** What is wrong with a rotation of heads of D channels, if anything is; the text was parsed. A plan would say so, too, but only of a
 * kernel that took seconds to make and can't be used. */
std::string rotation_error(const attune::text::Position &position, int64_t head_dim) {
    if (position.kind != attune::text::PositionKind::rotary || head_dim == 0) return "";
    const std::string is = "HEAD_DIM is " + std::to_string(head_dim);
    if (position.width > head_dim) return "width is " + std::to_string(position.width) + " and " + is;
    if (position.width > 0) return "";
    if (head_dim % 2 != 0) return "channels turn in pairs and " + is + "; it must be even, or width given";
    const int64_t pairs = head_dim / 2, sum = std::accumulate(position.sections.begin(), position.sections.end(), int64_t(0));
    if (!position.sections.empty() && sum != pairs)
        return "mrope's sections add up to " + std::to_string(sum) + "; they must to " + std::to_string(pairs) + ", as " + is;
    if (pairs % position.axes != 0)
        return "axes is " + std::to_string(position.axes) + "; it must divide " + std::to_string(pairs) + ", as " + is;
    return "";
}

// Of a score and a position "" in a descriptor says that none is compiled in, so that each plan may have its own.
bool check_score(Kernel &kernel) {
    const attune::text::ScoreResult parsed = attune::text::parse_score(kernel.score);
    if (!check(parsed, kernel, "SCORE", kernel.score)) return false;
    if (parsed.score.terms.empty()) kernel.score.clear();
    return true;
}

bool check_position(Kernel &kernel) {
    attune::text::PositionResult parsed = attune::text::parse_position(kernel.position);
    if (parsed.ok()) parsed.error = rotation_error(parsed.position, std::atoll(kernel.head_dim.c_str()));
    if (!check(parsed, kernel, "POSITION", kernel.position)) return false;
    if (parsed.position.kind == attune::text::PositionKind::none) kernel.position.clear();
    return true;
}

bool check_texts(Kernel &kernel) { return check_mask(kernel) && check_score(kernel) && check_position(kernel); }

} // namespace

int main(int argc, char **argv) {
    if (argc < 13) {
        std::fprintf(stderr, "attune_describe: %d arguments given; 12 are needed\n", argc - 1);
        return 1;
    }
    Kernel kernel{argv[2],        argv[3], argv[4],  upper(argv[5]), argv[6],  argv[7],
                  upper(argv[8]), argv[9], argv[10], argv[11],       argv[12], {argv + 13, argv + argc}};
    if (!check_texts(kernel)) return 1;
    const std::string path = std::string(argv[1]) + "/" + kernel.name + "_kernel";
    return write(path + ".h", header(kernel)) && write(path + ".cpp", source(kernel)) ? 0 : 1;
}
