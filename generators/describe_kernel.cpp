// attune_describe DIR NAME SCHEDULE TARGETS DTYPE HEAD_DIM VALUE_DIM MASK [PARAMETER...]
//
// Writes DIR/NAME_kernel.h and DIR/NAME_kernel.cpp: the attune_kernel descriptor of a kernel made by attune_add_kernel. The names
// of its run-time parameters are those of the mask, or PARAMETERs where the mask is written in C++. Exit 1, with a sentence on
// stderr, where MASK is no mask.
#include "text/mask.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Kernel {
    std::string name, schedule, targets, dtype, head_dim, value_dim, mask;
    std::vector<std::string> parameters;
};

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
           kernel.targets + "\",\n    ATTUNE_" + kernel.dtype + ", " + kernel.head_dim + ", " + kernel.value_dim + ", \"" + kernel.mask +
           "\", " + std::to_string(kernel.parameters.size()) + ", parameters, " + entry + "};\n";
}

bool write(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) std::fprintf(stderr, "attune_describe: can't write %s\n", path.c_str());
    return bool(file);
}

/** "f32" as in attune_type's ATTUNE_F32. */
std::string upper(std::string text) {
    for (char &c : text)
        if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
    return text;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 9) {
        std::fprintf(stderr, "attune_describe: %d arguments given; 8 are needed\n", argc - 1);
        return 1;
    }
    Kernel kernel{argv[2], argv[3], argv[4], upper(argv[5]), argv[6], argv[7], argv[8], {argv + 9, argv + argc}};
    if (!kernel.mask.empty()) {
        attune::text::ParseOptions options;
        options.allow_parameters = true;
        const attune::text::ParseResult parsed = attune::text::parse_mask(kernel.mask, options);
        if (!parsed.ok()) {
            std::fprintf(stderr, "attune_add_kernel(%s): MASK \"%s\": %s\n", argv[2], argv[8], parsed.error.c_str());
            return 1;
        }
        kernel.parameters = parsed.mask.parameters;
    }
    const std::string path = std::string(argv[1]) + "/" + kernel.name + "_kernel";
    return write(path + ".h", header(kernel)) && write(path + ".cpp", source(kernel)) ? 0 : 1;
}
