#include "printer.h"

namespace attune::ptx {

namespace {

using Kind = Instruction::Kind;

std::string list(const std::vector<Operand> &operands, size_t begin, size_t end) {
    std::string text;
    for (size_t i = begin; i < end; ++i)
        text += (i > begin ? ", " : "") + print(operands[i]);
    return text;
}

std::string print(const Variable &variable) {
    std::string text = variable.attributes + " " + variable.name;
    if (variable.range >= 0) text += "<" + std::to_string(variable.range) + ">";
    text += variable.dimensions;
    return variable.initialiser.empty() ? text : text + " = " + variable.initialiser;
}

std::string print(const std::vector<Variable> &parameters) {
    std::string text = "(";
    for (size_t i = 0; i < parameters.size(); ++i)
        text += (i ? ",\n\t" : "\n\t") + print(parameters[i]);
    return text + (parameters.empty() ? ")" : "\n)");
}

std::string print_code(const Instruction &code) {
    std::string text;
    if (!code.guard.empty()) text = std::string(code.guard_negated ? "@!" : "@") + code.guard + " ";
    text += code.opcode;
    if (!code.operands.empty()) text += " " + list(code.operands, 0, code.operands.size());
    return text + ";";
}

/** "param0, param1": how a call's parameters are named, results or arguments. */
std::string names(const char *prefix, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
        text += (i ? ", " : "") + (prefix + std::to_string(i));
    return text;
}

std::string print_call(const Instruction &call) {
    std::string text = "{", loads;
    const size_t arguments = call.operands.size() - call.results;
    for (size_t i = 0; i < arguments; ++i) {
        const std::string name = "param" + std::to_string(i), &type = call.types[call.results + i];
        text +=
            "\n\t.param " + type + " " + name + ";\n\tst.param" + type + " [" + name + "], " + print(call.operands[call.results + i]) + ";";
    }
    for (size_t i = 0; i < call.results; ++i) {
        const std::string name = "retval" + std::to_string(i);
        text += "\n\t.param " + call.types[i] + " " + name + ";";
        if (call.operands[i].is_register()) loads += "\n\tld.param" + call.types[i] + " " + call.operands[i].name + ", [" + name + "];";
    }
    text += "\n\tcall.uni " + (call.results ? "(" + names("retval", call.results) + "), " : "") + call.name;
    return text + ", (" + names("param", arguments) + ");" + loads + "\n\t}";
}

std::string print(const Instruction &instruction) {
    switch (instruction.kind) {
    case Kind::code:
        return "\t" + print_code(instruction) + "\n";
    case Kind::call:
        return "\t" + print_call(instruction) + "\n";
    case Kind::label:
        return instruction.name + ":\n";
    case Kind::declaration:
        return "\t" + print(instruction.variable) + ";\n";
    case Kind::pragma:
        return "\t.pragma \"" + instruction.name + "\";\n";
    case Kind::branch_targets:
        return instruction.name + ": .branchtargets " + list(instruction.operands, 0, instruction.operands.size()) + ";\n";
    case Kind::scope_begin:
        return "\t{\n";
    case Kind::scope_end:
        return "\t}\n";
    case Kind::none:
        break;
    }
    return "";
}

std::string print(const std::vector<Instruction> &body) {
    std::string text;
    for (const Instruction &instruction : body)
        text += print(instruction);
    return text;
}

std::string print(const Function &function) {
    const std::string results = function.results.empty() ? "" : print(function.results) + " ";
    const std::string head = function.attributes + " " + results + function.name + print(function.parameters);
    return function.is_defined ? head + "\n{\n" + print(function.body) + "}\n" : head + ";\n";
}

std::string print(const Kernel &kernel) {
    std::string text = kernel.attributes + " " + kernel.name + print(kernel.parameters) + "\n";
    for (const Directive &directive : kernel.directives)
        text += directive.name + " " + directive.value + "\n";
    return text + "{\n" + print(kernel.body) + "}\n";
}

} // namespace

std::string print(const Operand &operand) {
    const std::vector<Operand> &elements = operand.elements;
    switch (operand.kind) {
    case Operand::Kind::reg:
    case Operand::Kind::symbol:
        return (operand.negated ? "!" : "") + operand.name;
    case Operand::Kind::immediate:
        return operand.name;
    case Operand::Kind::address:
        if (elements.empty()) return "[" + std::to_string(operand.offset) + "]";
        return "[" + print(elements[0]) + (operand.offset ? "+" + std::to_string(operand.offset) : "") + "]";
    case Operand::Kind::vector:
        return "{" + list(elements, 0, elements.size()) + "}";
    case Operand::Kind::pair:
        return print(elements[0]) + "|" + print(elements[1]);
    case Operand::Kind::sink:
        break;
    }
    return "_";
}

std::string print(const Module &module) {
    std::string text = ".version " + module.version + "\n.target " + module.target + "\n.address_size " + module.address_size + "\n";
    for (const Variable &variable : module.variables)
        text += print(variable) + ";\n";
    for (const Function &function : module.functions)
        text += print(function);
    for (const Kernel &kernel : module.kernels)
        text += "\n" + print(kernel);
    return text;
}

std::string shown(const Instruction &instruction) {
    if (!instruction.is_call()) {
        std::string text = print(instruction);
        while (!text.empty() && (text.back() == '\n' || text.back() == '\t'))
            text.pop_back();
        return text.substr(std::min(text.find_first_not_of('\t'), text.size()));
    }
    const std::vector<Operand> &operands = instruction.operands;
    return "call " + instruction.name + "(" + list(operands, instruction.results, operands.size()) + ") -> " +
           list(operands, 0, instruction.results);
}

Error error_at(const Instruction &instruction, const std::string &sentence) {
    return Error(sentence, instruction.line, shown(instruction));
}

} // namespace attune::ptx
