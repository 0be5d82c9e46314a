// A kernel's body while it is rewritten.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "module.h"

namespace attune::ptx {

/** The instructions of one kernel with what each reads and writes. Positions stay while it is edited: what is erased leaves a gap, what
 * is put before another instruction waits until finish(). */
class Body {
public:
    explicit Body(Kernel &kernel);

    size_t size() const { return instructions_.size(); }
    const Instruction &operator[](size_t i) const { return instructions_[i]; }
    const std::vector<std::string> &defines(size_t i) const { return definitions_[i]; }
    const std::vector<std::string> &reads(size_t i) const { return uses_[i]; }
    bool ends_block(size_t i) const { return ends_[i]; }
    bool defines(size_t i, const std::string &reg) const;
    bool reads(size_t i, const std::string &reg) const;
    /** How often the kernel reads the register. What waits for finish() counts. */
    int uses_of(const std::string &reg) const;

    void erase(size_t i);
    /** Puts the last of the statements in the place of i, the others before it. */
    void replace(size_t i, std::vector<Instruction> statements);
    /** Puts statements right before i, after what was put there earlier. */
    void put_before(size_t i, std::vector<Instruction> statements);

    /** Puts a statement at the kernel's start. */
    void put_first(Instruction statement);

    /** A register that the kernel doesn't have yet: "pred", "b32" or "b64". */
    std::string fresh(const std::string &type);
    /** The operand itself, or if it is an immediate a register that holds it from the kernel's start. 32 bits. */
    Operand in_register(const Operand &operand);

    /** An instruction of the opcode and operands, said to come from line number `line`. */
    static Instruction make(int line, const std::string &opcode, std::vector<Operand> operands);

    /** Closes gaps, and adds the declarations and constants to the kernel. */
    void finish();

private:
    void count(const Instruction &instruction, int by);
    void set(size_t i, Instruction instruction);
    /** What stands at the kernel's start because of this pass. */
    std::vector<Instruction> opening() const;

    std::vector<Instruction> &instructions_;
    std::vector<std::vector<std::string>> definitions_, uses_;
    std::vector<char> ends_;
    std::unordered_map<std::string, int> use_counts_;
    std::map<size_t, std::vector<Instruction>> before_;
    std::map<std::string, int64_t> added_; // registers by type
    std::vector<Instruction> start_;
    std::map<std::string, std::string> constants_; // an immediate, its register
};

} // namespace attune::ptx
