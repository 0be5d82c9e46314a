#include "parser.h"

#include "body_parser.h"

namespace attune::ptx {

namespace {

class ModuleParser : BodyParser {
public:
    explicit ModuleParser(std::string_view text) : BodyParser(text) {}

    Module run() {
        header();
        while (!is_end())
            if (!skip(";") && !skip_debug()) item();
        return std::move(module_);
    }

private:
    void header() {
        expect(".version", "at the beginning");
        module_.version = take().text;
        expect(".target", "after .version");
        module_.target = take_word("a target");
        while (skip(","))
            module_.target += ", " + take_word("a target's option");
        expect(".address_size", "after .target");
        module_.address_size = take().text;
    }

    /** A variable, the declaration of a function, or a kernel. */
    void item() {
        const int line = peek().line;
        std::string attributes;
        while (at(".extern") || at(".visible") || at(".weak"))
            attributes += take().text + " ";
        if (skip(".func")) {
            function(line, attributes + ".func");
        } else if (skip(".entry")) {
            kernel(line, attributes + ".entry");
        } else if (at(".global") || at(".const") || at(".shared")) {
            Variable found = variable();
            found.attributes = attributes + found.attributes;
            expect(";", "after the variable");
            module_.variables.push_back(found);
        } else {
            fail("unknown directive " + shown());
        }
    }

    std::vector<Variable> parameters() {
        std::vector<Variable> result;
        expect("(", "before the parameters");
        while (!skip(")")) {
            if (!at(".param")) fail("expected '.param', found " + shown());
            result.push_back(variable());
            if (!at(")")) expect(",", "between parameters");
        }
        return result;
    }

    void function(int line, const std::string &attributes) {
        Function result;
        result.line = line;
        result.attributes = attributes;
        if (at("(")) result.results = parameters();
        result.name = take_word("a function's name");
        if (at("(")) result.parameters = parameters();
        while (skip(".noreturn"))
            result.attributes += " .noreturn";
        result.is_defined = skip("{");
        if (result.is_defined)
            result.body = body();
        else
            expect(";", "after the function");
        module_.functions.push_back(std::move(result));
    }

    void kernel(int line, const std::string &attributes) {
        Kernel result;
        result.line = line;
        result.attributes = attributes;
        result.name = take_word("a kernel's name");
        if (at("(")) result.parameters = parameters();
        while (!at("{"))
            result.directives.push_back(performance_directive());
        take();
        result.body = body();
        module_.kernels.push_back(std::move(result));
    }

    Directive performance_directive() {
        if (!at(".maxntid") && !at(".reqntid") && !at(".minnctapersm") && !at(".maxnreg")) fail("unknown directive " + shown());
        Directive result;
        result.name = take().text;
        result.value = std::to_string(take_integer("a number"));
        while (skip(","))
            result.value += ", " + std::to_string(take_integer("a number"));
        return result;
    }

    Module module_;
};

} // namespace

Module parse(const std::string &text) { return ModuleParser(text).run(); }

std::vector<Instruction> parse_statements(const std::string &text, int line) {
    std::vector<Instruction> result = BodyParser(text).statements();
    for (Instruction &instruction : result)
        instruction.line = line;
    return result;
}

} // namespace attune::ptx
