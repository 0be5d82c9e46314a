// What ptxas prints.
#include <cstdlib>
#include <sstream>

#include "assemble.h"
#include "lexer.h"

namespace attune::ptx {

namespace {

/** The number right before the last `words`, or 0: "12 bytes spill stores". */
int number_before(const std::string &line, const std::string &words) {
    const size_t end = line.rfind(words);
    if (end == std::string::npos) return 0;
    size_t begin = end;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
        --begin;
    return std::atoi(line.substr(begin, end - begin).c_str());
}

/** The sum of the numbers before " bytes cmem[": one for every bank. */
int constants(const std::string &line) {
    int sum = 0;
    for (size_t at = line.find(" bytes cmem["); at != std::string::npos; at = line.find(" bytes cmem[", at + 1))
        sum += number_before(line.substr(0, at + 12), " bytes cmem[");
    return sum;
}

/** "Compiling entry function 'name' for 'sm_80'". */
std::string compiled_kernel(const std::string &line) {
    const size_t at = line.find("Compiling entry function '");
    if (at == std::string::npos) return "";
    const size_t begin = at + 26;
    return line.substr(begin, line.find('\'', begin) - begin);
}

} // namespace

std::vector<KernelFigures> parse_figures(const std::string &log, const std::string &arch) {
    std::vector<KernelFigures> result;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        if (const std::string kernel = compiled_kernel(line); !kernel.empty()) {
            result.push_back({});
            result.back().kernel = kernel;
            result.back().arch = arch;
        } else if (!result.empty() && line.find(" bytes stack frame") != std::string::npos) {
            result.back().stack_bytes = number_before(line, " bytes stack frame");
            result.back().spill_stores = number_before(line, " bytes spill stores");
            result.back().spill_loads = number_before(line, " bytes spill loads");
        } else if (!result.empty() && line.find("Used ") != std::string::npos) {
            result.back().registers = number_before(line, " registers");
            result.back().shared_bytes = number_before(line, " bytes smem");
            result.back().constant_bytes = constants(line);
        }
    }
    return result;
}

std::string wgmma_remark(const std::string &log) {
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);)
        for (const char *words :
             {"wgmma.mma_async instructions are serialized", "warpgroup.arrive is injected", "warpgroup.wait is injected"})
            if (line.find(words) != std::string::npos) return line;
    return "";
}

std::string explain_errors(const std::string &log, const std::string &ptx) {
    std::string text;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        const bool error = line.find("error") != std::string::npos || line.find("fatal") != std::string::npos;
        if (!error) continue;
        text += line + "\n";
        const size_t number = line.find(", line ");
        if (number != std::string::npos) text += "    " + line_of(ptx, std::atoi(line.c_str() + number + 7)) + "\n";
    }
    return text.empty() ? log : text;
}

} // namespace attune::ptx
