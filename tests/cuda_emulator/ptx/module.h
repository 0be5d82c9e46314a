// A PTX module as read: kernels of statements whose operands are not yet resolved, and variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "type.h"

namespace attune::emulator {

/** One operand of a statement. */
struct Operand {
    enum class Form { reg, number, special, symbol, address, list, sink };
    Form form = Form::number;
    int reg = -1;                  // reg; address: base register, or -1; an index into PtxKernel::registers
    int second = -1;               // reg: the other destination, "p|q"
    bool negated = false;          // reg: "!p"
    uint64_t bits = 0;             // number
    int float_bits = 0;            // number: 32 or 64 where it was written as a float
    int64_t offset = 0;            // address
    std::string name;              // special, symbol; address: base symbol, or empty
    std::vector<Operand> elements; // list
};

/** An instruction. */
struct Statement {
    std::vector<std::string> parts; // the opcode, split at the dots
    std::vector<Operand> operands;
    int guard = -1; // the predicate register, or -1
    bool guard_negated = false;
    int line = 0;
    std::string text;
};

enum class Space { global, constant, shared, local };

/** A variable in a state space. */
struct Variable {
    Space space = Space::global;
    uint64_t bytes = 0;
    uint64_t align = 1;
    bool is_extern = false;           // dynamic shared memory
    std::vector<uint8_t> initialiser; // empty: zeros
};

struct Parameter {
    std::string name;
    uint64_t offset = 0, bytes = 0;
};

struct PtxKernel {
    std::string name;
    int line = 0;
    std::vector<Parameter> parameters;
    uint64_t parameter_bytes = 0;
    std::vector<Type> registers;
    std::vector<Statement> code;
    std::map<std::string, size_t> labels; // the statement that follows
    std::map<std::string, Variable> variables;
    uint32_t max_threads[3] = {0, 0, 0};      // .maxntid; zeros: none
    uint32_t required_threads[3] = {0, 0, 0}; // .reqntid; zeros: none
};

struct PtxModule {
    int target = 0;                // 90 of sm_90
    bool only_this_target = false; // sm_90a
    std::map<std::string, PtxKernel> kernels;
    std::map<std::string, Variable> variables;
};

/** Reads PTX. Throws Error (invalid_ptx) naming the line. */
PtxModule parse(const std::string &ptx);

} // namespace attune::emulator
