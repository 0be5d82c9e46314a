#include "body_parser.h"

#include "call_sequence.h"
#include "opcodes.h"

namespace attune::ptx {

namespace {

using Kind = Instruction::Kind;

/** Whether the word is a type or a space that may stand before a variable's name. */
bool is_attribute(const std::string &word) { return word[0] == '.'; }

bool is_register_name(const std::string &word) { return word[0] == '%'; }

} // namespace

std::vector<Instruction> BodyParser::statements() {
    std::vector<Instruction> result;
    while (!is_end())
        statement(result);
    return result;
}

std::vector<Instruction> BodyParser::body() {
    std::vector<Instruction> result;
    while (!at("}") || scopes_ > 0) {
        if (is_end()) fail("the body of the kernel has no end");
        statement(result);
    }
    take();
    return result;
}

bool BodyParser::skip_debug() {
    if (at(".section")) {
        skip_line();
        if (skip("{")) take_until("}", ".section"), expect("}", "after .section");
        return true;
    }
    if (!at(".file") && !at(".loc")) return false;
    skip_line();
    return true;
}

void BodyParser::statement(std::vector<Instruction> &body) {
    if (skip(";") || skip_debug()) return;
    const int line = peek().line;
    Instruction next;
    if (at("{") && peek(1).text == ".param") {
        next = call_sequence();
    } else if (skip("{")) {
        ++scopes_;
        next.kind = Kind::scope_begin;
    } else if (at("}")) {
        if (scopes_ == 0) fail("'}' without '{'");
        take();
        --scopes_;
        next.kind = Kind::scope_end;
    } else if (at_word() && peek(1).text == ":") {
        next = label();
    } else if (at_word() && peek().text[0] == '.') {
        next = directive();
    } else {
        next = code();
        if (next.is("call")) fail_at(line, "a call outside a call sequence");
    }
    next.line = line;
    body.push_back(std::move(next));
}

Instruction BodyParser::label() {
    Instruction label;
    label.name = take().text;
    take();
    label.kind = Kind::label;
    if (!at(".branchtargets")) return label;
    Instruction targets = branch_targets();
    targets.name = label.name;
    return targets;
}

Instruction BodyParser::branch_targets() {
    Instruction targets;
    targets.kind = Kind::branch_targets;
    take();
    do
        targets.operands.push_back(Operand::symbol(take_word("a label")));
    while (skip(","));
    expect(";", "after the labels");
    return targets;
}

Instruction BodyParser::directive() {
    Instruction result;
    if (skip(".pragma")) {
        result.kind = Kind::pragma;
        if (peek().kind != TokenKind::string) fail("expected a string after .pragma, found " + shown());
        result.name = take().text;
    } else {
        if (!at(".reg") && !at(".local") && !at(".shared") && !at(".const") && !at(".global"))
            fail("unknown directive " + shown() + " in a kernel");
        result.kind = Kind::declaration;
        result.variable = variable();
    }
    expect(";", "after the directive");
    return result;
}

Variable BodyParser::variable() {
    Variable result;
    while (at_word() && is_attribute(peek().text)) {
        const std::string word = take().text;
        result.attributes += (result.attributes.empty() ? "" : " ") + word;
        if (word == ".align") result.attributes += " " + std::to_string(take_integer("an alignment"));
    }
    result.name = take_word("a variable's name");
    if (skip("<")) {
        result.range = take_integer("a number of registers");
        expect(">", "after the number of registers");
    }
    while (skip("[")) {
        result.dimensions += "[" + take_until("]", "a variable's size") + "]";
        expect("]", "after the variable's size");
    }
    if (skip("=")) result.initialiser = take_until(";", "an initialiser");
    return result;
}

Instruction BodyParser::code() {
    Instruction result;
    result.kind = Kind::code;
    result.line = peek().line;
    if (skip("@")) {
        result.guard_negated = skip("!");
        result.guard = take_word("a predicate");
    }
    result.opcode = take_word("an opcode");
    if (!result.is("call") && !find_opcode(result.opcode)) fail_at(result.line, "unknown opcode '" + result.opcode + "'");
    while (!at(";")) {
        result.operands.push_back(operand());
        if (!at(";")) expect(",", "between operands");
    }
    take();
    return result;
}

Instruction BodyParser::call_sequence() {
    CallSequence sequence;
    const int line = take().line;
    const auto check = [&](int where, const std::string &sentence) {
        if (!sentence.empty()) fail_at(where, sentence);
    };
    while (!skip("}")) {
        if (is_end()) fail("the call sequence has no end");
        const int here = peek().line;
        if (at(".param")) {
            check(here, sequence.declare(variable()));
            expect(";", "after the parameter");
        } else if (!skip_debug()) {
            check(here, sequence.add(code()));
        }
    }
    Instruction call;
    check(line, sequence.finish(call));
    return call;
}

Operand BodyParser::operand() {
    if (at("[")) return address();
    if (at("{") || at("(")) return vector();
    Operand first = simple_operand();
    if (!skip("|")) return first;
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.elements = {first, simple_operand()};
    return pair;
}

Operand BodyParser::simple_operand() {
    const bool negated = skip("!");
    if (at("-") || peek().kind == TokenKind::number) {
        const std::string sign = skip("-") ? "-" : "";
        if (peek().kind != TokenKind::number) fail("expected a number, found " + shown());
        return Operand::immediate(sign + take().text);
    }
    if (skip("_")) return {};
    const std::string name = take_word("an operand");
    Operand result = is_register_name(name) ? Operand::reg(name) : Operand::symbol(name);
    result.negated = negated;
    return result;
}

Operand BodyParser::address() {
    Operand result;
    result.kind = Operand::Kind::address;
    expect("[", "before an address");
    if (at_word())
        result.elements.push_back(simple_operand());
    else
        result.offset = take_integer("an address");
    if (!result.elements.empty() && (at("+") || at("-"))) {
        skip("+"); // "+-4" is -4
        result.offset = take_integer("an offset");
    }
    expect("]", "after the address");
    return result;
}

Operand BodyParser::vector() {
    const bool round = at("(");
    Operand result;
    result.kind = Operand::Kind::vector;
    take();
    while (!at(round ? ")" : "}")) {
        result.elements.push_back(simple_operand());
        if (!at(round ? ")" : "}")) expect(",", "between elements");
    }
    take();
    return result;
}

} // namespace attune::ptx
