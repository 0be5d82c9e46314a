// A PTX module as plain data: the subset that LLVM's NVPTX back end writes for Halide's kernels, and what the pass adds to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attune::ptx {

struct Operand {
    enum class Kind {
        reg,       // name: "%r1", a special register "%tid.x", or a register declared in a scope, "tmp"
        immediate, // name: as written, "-1", "0f3F800000"
        symbol,    // name: a variable, a label or a function
        address,   // [elements[0] + offset]; no element: an absolute address
        vector,    // elements: "{%r1, %r2}"
        pair,      // elements: "%r1|%p1"
        sink       // "_": a result nobody wants
    };

    Kind kind = Kind::sink;
    std::string name;
    bool negated = false; // !%p1
    int64_t offset = 0;   // address
    std::vector<Operand> elements;

    static Operand reg(const std::string &name) { return {Kind::reg, name, false, 0, {}}; }
    static Operand immediate(const std::string &text) { return {Kind::immediate, text, false, 0, {}}; }
    static Operand symbol(const std::string &name) { return {Kind::symbol, name, false, 0, {}}; }
    static Operand vector_of(std::vector<Operand> elements) { return {Kind::vector, "", false, 0, std::move(elements)}; }
    static Operand address(Operand base, int64_t offset) { return {Kind::address, "", false, offset, {std::move(base)}}; }

    bool is_register() const { return kind == Kind::reg; }
    bool operator==(const Operand &other) const {
        return kind == other.kind && name == other.name && negated == other.negated && offset == other.offset && elements == other.elements;
    }
    bool operator!=(const Operand &other) const { return !(*this == other); }
};

/** A declaration: ".reg .b32 %r<12>", ".shared .align 16 .b8 tile[64]", ".global .align 4 .b8 table[2] = {1, 2}", ".param .u64 .ptr p". */
struct Variable {
    std::string attributes; // all before the name: ".global .align 4 .b8"
    std::string name;
    int64_t range = -1;      // registers %r0 .. %r<range - 1>; -1: one, named as it stands
    std::string dimensions;  // "[64]"
    std::string initialiser; // "{1, 2}"

    /** Whether one of the attributes is `word`, ".shared". */
    bool has(const std::string &word) const;
};

/** One statement of a kernel's body. */
struct Instruction {
    enum class Kind { code, call, label, declaration, pragma, branch_targets, scope_begin, scope_end, none };

    Kind kind = Kind::none;
    int line = 0; // of the text it was read from, or of what it replaces

    // code and call
    std::string guard;             // "%p1": runs where it is true
    bool guard_negated = false;    // "@!%p1"
    std::string opcode;            // with its modifiers: "ld.global.nc.v2.b64"
    std::vector<Operand> operands; // of a call: its results, then its arguments

    std::string name;               // a call's function; a label; a pragma's text
    size_t results = 0;             // of a call: how many operands it writes
    std::vector<std::string> types; // of a call: ".b32" of each operand
    Variable variable;              // declaration

    bool is_code() const { return kind == Kind::code; }
    bool is_call() const { return kind == Kind::call; }
    /** Whether the opcode is `prefix`, or begins with it and a dot. */
    bool is(const char *prefix) const;
    /** Whether one of the opcode's modifiers is `word`, "shared"; "shared::cta" counts as "shared". */
    bool has(const char *word) const;
};

/** ".extern .func (.param .b32 result) name (.param .b32 x)": a declaration, or with a body a function of the compiler's own, such as the
 * slow path of a power of doubles. */
struct Function {
    int line = 0;
    std::string attributes; // ".extern .func"
    std::string name;
    std::vector<Variable> results, parameters;
    bool is_defined = false;
    std::vector<Instruction> body;
};

/** A performance directive of a kernel: ".maxntid" and "256, 1, 1". */
struct Directive {
    std::string name, value;
};

struct Kernel {
    int line = 0;
    std::string attributes; // ".visible .entry"
    std::string name;
    std::vector<Variable> parameters;
    std::vector<Directive> directives;
    std::vector<Instruction> body;
};

struct Module {
    std::string version, target, address_size;
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::vector<Kernel> kernels;
};

} // namespace attune::ptx
