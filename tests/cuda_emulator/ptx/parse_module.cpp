#include <algorithm>

#include "module.h"
#include "parse_kernel.h"
#include "parse_variable.h"

namespace attune::emulator {
namespace {

class ModuleParser {
public:
    explicit ModuleParser(const std::string &ptx) : cursor(tokenise(ptx)) {}

    PtxModule parse() {
        while (!cursor.at_end())
            parse_item();
        if (module.target == 0) throw Error(Status::invalid_ptx, "PTX: there is no .target");
        return std::move(module);
    }

private:
    Cursor cursor;
    PtxModule module;

    void parse_item() {
        const std::string directive = cursor.take().text;
        Space space;
        if (directive == ".version") {
            cursor.take();
        } else if (directive == ".target") {
            parse_target();
        } else if (directive == ".address_size") {
            if (cursor.take_number() != 64) throw cursor.error("addresses must have 64 bits");
        } else if (directive == ".file") {
            cursor.skip_line();
        } else if (directive == ".section") {
            while (cursor.peek() != "{")
                cursor.take();
            cursor.skip_braces();
        } else if (directive == ".visible" || directive == ".weak" || directive == ".extern") {
            parse_linked(directive == ".extern");
        } else if (directive == ".entry") {
            parse_kernel();
        } else if (read_space(directive, space)) {
            parse_variables(cursor, space, false, module.variables);
        } else if (directive != ";") {
            throw cursor.error("the emulator does not know \"" + directive + "\" here");
        }
    }

    void parse_linked(bool is_extern) {
        Space space;
        if (read_space(cursor.peek(), space)) {
            cursor.take();
            if (is_extern && space != Space::shared) throw cursor.error("only shared memory may be external");
            parse_variables(cursor, space, is_extern, module.variables);
        } else if (is_extern && cursor.peek() == ".func") {
            cursor.skip_past(";"); // a call of it is refused
        }
    }

    void parse_target() {
        const std::string name = cursor.take().text;
        if (name.substr(0, 3) != "sm_") throw cursor.error("expected sm_..., found \"" + name + "\"");
        module.target = std::atoi(name.c_str() + 3);
        module.only_this_target = name.back() == 'a';
        while (cursor.take_if(","))
            cursor.take();
    }

    void parse_kernel() {
        PtxKernel kernel;
        kernel.line = cursor.line();
        kernel.name = cursor.take().text;
        if (cursor.take_if("(")) {
            while (!cursor.take_if(")"))
                parse_parameter(kernel);
        }
        while (cursor.peek() != "{")
            parse_performance(kernel);
        KernelParser(cursor, kernel).parse_body();
        const std::string name = kernel.name;
        if (!module.kernels.emplace(name, std::move(kernel)).second) throw cursor.error("kernel " + name + " is there twice");
    }

    void parse_parameter(PtxKernel &kernel) {
        cursor.expect(".param");
        uint64_t align = 0;
        Type type;
        bool typed = false;
        while (cursor.peek()[0] == '.') {
            const std::string word = cursor.take().text;
            if (word == ".align") align = std::max(align, typed ? 0 : cursor.take_number());
            if (word == ".align" && typed) cursor.take(); // of what a pointer points to
            typed = read_type(word.substr(1), type) || typed;
        }
        Parameter parameter{cursor.take().text, 0, static_cast<uint64_t>(type.bits) / 8};
        align = std::max(align, parameter.bytes);
        if (cursor.take_if("[")) {
            parameter.bytes *= cursor.take_number();
            cursor.expect("]");
        }
        parameter.offset = (kernel.parameter_bytes + align - 1) / align * align;
        kernel.parameter_bytes = parameter.offset + parameter.bytes;
        kernel.parameters.push_back(parameter);
        cursor.take_if(",");
    }

    void parse_performance(PtxKernel &kernel) {
        const std::string directive = cursor.take().text;
        if (directive == ".maxntid" || directive == ".reqntid") {
            uint32_t *sizes = directive == ".maxntid" ? kernel.max_threads : kernel.required_threads;
            sizes[0] = sizes[1] = sizes[2] = 1;
            int count = 0;
            do {
                sizes[count++] = static_cast<uint32_t>(cursor.take_number());
            } while (count < 3 && cursor.take_if(","));
        } else if (directive == ".minnctapersm" || directive == ".maxnreg") {
            cursor.take_number();
        } else if (directive == ".pragma") {
            cursor.skip_past(";");
        } else if (directive == ".noreturn") {
        } else {
            throw cursor.error("the emulator does not know " + directive + " of a kernel");
        }
    }
};

} // namespace

PtxModule parse(const std::string &ptx) { return ModuleParser(ptx).parse(); }

} // namespace attune::emulator
