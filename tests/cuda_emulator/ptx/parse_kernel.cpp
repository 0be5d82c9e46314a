#include "parse_kernel.h"

#include <sstream>

#include "parse_variable.h"

namespace attune::emulator {

void KernelParser::parse_body() {
    cursor.expect("{");
    for (size_t depth = 1; depth > 0;) {
        if (cursor.take_if("{")) {
            scopes.emplace_back();
            ++depth;
        } else if (cursor.take_if("}")) {
            scopes.pop_back();
            --depth;
        } else {
            parse_item();
        }
    }
}

void KernelParser::parse_item() {
    if (cursor.take_if(";")) return;
    if (cursor.peek()[0] == '.') {
        parse_directive();
    } else if (cursor.peek(1) == ":") {
        const std::string label = cursor.take().text;
        cursor.expect(":");
        if (!kernel.labels.emplace(label, kernel.code.size()).second) throw cursor.error("label " + label + " is there twice");
    } else {
        parse_statement();
    }
}

void KernelParser::parse_directive() {
    const std::string directive = cursor.peek();
    Space space;
    if (directive == ".loc" || directive == ".file") {
        cursor.skip_line();
    } else if (directive == ".reg") {
        parse_registers();
    } else if (read_space(directive, space)) {
        cursor.take();
        parse_variables(cursor, space, false, kernel.variables);
    } else if (directive == ".pragma") {
        cursor.skip_past(";");
    } else {
        throw cursor.error("the emulator does not know the directive " + directive);
    }
}

void KernelParser::declare(const std::string &name, Type type) {
    scopes.back()[name] = static_cast<int>(kernel.registers.size());
    kernel.registers.push_back(type);
}

void KernelParser::parse_registers() {
    cursor.expect(".reg");
    Type type;
    const std::string word = cursor.take().text;
    if (!read_type(word.substr(1), type)) throw cursor.error("the emulator knows no registers of type " + word);
    do {
        const std::string name = cursor.take().text;
        if (cursor.take_if("<")) {
            const uint64_t count = cursor.take_number();
            cursor.expect(">");
            for (uint64_t i = 0; i < count; ++i)
                declare(name + std::to_string(i), type);
        } else {
            declare(name, type);
        }
    } while (cursor.take_if(","));
    cursor.expect(";");
}

int KernelParser::find_register(const std::string &name) const {
    for (size_t i = scopes.size(); i-- > 0;) {
        const auto found = scopes[i].find(name);
        if (found != scopes[i].end()) return found->second;
    }
    return -1;
}

int KernelParser::expect_register(const std::string &name) {
    const int reg = find_register(name);
    if (reg < 0) throw cursor.error("register " + name + " is not declared");
    return reg;
}

void KernelParser::parse_statement() {
    Statement statement;
    statement.line = cursor.line();
    const size_t start = cursor.position();
    if (cursor.take_if("@")) {
        statement.guard_negated = cursor.take_if("!");
        statement.guard = expect_register(cursor.take().text);
        if (!(kernel.registers[static_cast<size_t>(statement.guard)] == predicate_type)) throw cursor.error("the guard is no predicate");
    }
    std::istringstream opcode(cursor.take().text);
    for (std::string part; std::getline(opcode, part, '.');)
        statement.parts.push_back(part);
    while (cursor.peek() != ";") {
        statement.operands.push_back(parse_operand());
        if (cursor.peek() != ";") cursor.expect(",");
    }
    cursor.expect(";");
    statement.text = cursor.text_since(start);
    kernel.code.push_back(std::move(statement));
}

Operand KernelParser::parse_operand() {
    if (cursor.peek() == "{") return parse_list();
    if (cursor.peek() == "[") return parse_address();
    return parse_word();
}

Operand KernelParser::parse_word() {
    Operand operand;
    operand.negated = cursor.take_if("!");
    const char first = cursor.peek()[0];
    if (first == '-' || (first >= '0' && first <= '9')) {
        operand.bits = parse_number(cursor, operand.float_bits);
        return operand;
    }
    if (!cursor.at_word()) throw cursor.error("expected an operand, found \"" + cursor.peek() + "\"");
    operand.name = cursor.take().text;
    operand.reg = find_register(operand.name);
    if (operand.name == "_") {
        operand.form = Operand::Form::sink;
    } else if (operand.reg >= 0) {
        operand.form = Operand::Form::reg;
    } else {
        operand.form = operand.name[0] == '%' ? Operand::Form::special : Operand::Form::symbol;
    }
    if (cursor.take_if("|")) operand.second = expect_register(cursor.take().text);
    return operand;
}

Operand KernelParser::parse_address() {
    Operand operand;
    operand.form = Operand::Form::address;
    cursor.expect("[");
    while (!cursor.take_if("]")) {
        cursor.take_if("+");
        const char first = cursor.peek()[0];
        if (first == '-' || (first >= '0' && first <= '9')) {
            int float_bits = 0;
            operand.offset += static_cast<int64_t>(parse_number(cursor, float_bits));
            continue;
        }
        const std::string name = cursor.take().text;
        const int reg = find_register(name);
        if (operand.reg >= 0 || !operand.name.empty() || cursor.peek() == ",")
            throw cursor.error("the emulator does not know this address");
        if (reg >= 0) {
            operand.reg = reg;
        } else {
            operand.name = name;
        }
    }
    return operand;
}

Operand KernelParser::parse_list() {
    Operand operand;
    operand.form = Operand::Form::list;
    cursor.expect("{");
    do {
        operand.elements.push_back(parse_word());
    } while (cursor.take_if(","));
    cursor.expect("}");
    return operand;
}

} // namespace attune::emulator
