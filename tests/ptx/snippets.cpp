#include "snippets.h"

#include <sstream>

namespace attune::ptx {

namespace {

std::string number(int n) { return "%r" + std::to_string(n); }

} // namespace

std::string kernel(const std::string &body) {
    return ".version 7.1\n.target sm_86\n.address_size 64\n.visible .entry k(\n\t.param .u64 p,\n\t.param .u32 n\n)\n{\n"
           "\t.reg .pred %p<20>;\n\t.reg .b32 %r<200>;\n\t.reg .b64 %rd<100>;\n" +
           body + "\n\tret;\n}\n";
}

std::string call(const std::string &result, const std::string &function, const std::vector<std::string> &arguments) {
    std::string text = "\t{ // callseq 1, 0\n", list;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string name = "param" + std::to_string(i);
        text += "\t.param .b32 \t" + name + ";\n\tst.param.b32 \t[" + name + "], " + arguments[i] + ";\n";
        list += (i ? ", " : "") + name;
    }
    return text + "\t.param .b32 \tretval0;\n\tcall.uni (retval0), " + function + ", (" + list + ");\n\tld.param.b32 \t" + result +
           ", [retval0];\n\t} // callseq 1\n";
}

std::string mma(int sum, int addend, const std::string &function) {
    std::string text;
    for (int r = 0; r < 4; ++r) {
        text += call(number(150 + sum + r), function, {std::to_string(r), "%r1", "%r2", "%r3", "%r4", "%r5", "%r6"});
        text += "\tadd.f32 \t" + number(sum + r) + ", " + number(addend + r) + ", " + number(150 + sum + r) + ";\n";
    }
    return text;
}

std::string rewritten(const std::string &body, const RewriteOptions &options) {
    std::istringstream lines(rewrite(kernel(body), options));
    std::string result;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const size_t begin = line.find_first_not_of('\t');
        if (line == "}") inside = false;
        if (inside && begin != std::string::npos && line.compare(begin, 4, ".reg") != 0) result += line.substr(begin) + "\n";
        if (line == "{") inside = true;
    }
    return result;
}

int lines_with(const std::string &text, const std::string &all) {
    int count = 0;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);)
        count += line.find(text) != std::string::npos;
    return count;
}

size_t place(const std::string &text, const std::string &of, size_t from) {
    const size_t at = text.find(of, from);
    EXPECT_NE(at, std::string::npos) << of << " is not in\n" << text;
    return at;
}

void expect_refused(const std::string &body, const std::vector<std::string> &parts, const RewriteOptions &options) {
    try {
        ADD_FAILURE() << "accepted:\n" << rewritten(body, options);
    } catch (const Error &error) {
        for (const std::string &part : parts)
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "'" << part << "' is not in: " << error.what();
    }
}

} // namespace attune::ptx
