#include "decode.h"

#include <algorithm>

namespace attune::emulator {
namespace {

const DecodeTable &decode_table() {
    static const DecodeTable table = [] {
        DecodeTable all;
        for (auto add : {add_integer_opcodes, add_bit_opcodes, add_arithmetic_opcodes, add_float_opcodes, add_compare_opcodes,
                         add_move_opcodes, add_convert_opcodes, add_memory_opcodes, add_atomic_opcodes, add_copy_opcodes, add_warp_opcodes,
                         add_matrix_opcodes, add_warpgroup_opcodes, add_control_opcodes}) {
            add(all);
        }
        return all;
    }();
    return table;
}

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/** Places the variables that a kernel mentions: static shared memory first, then the dynamic one. */
class VariableLayout {
public:
    VariableLayout(const PtxModule &module, Program &program, const std::map<std::string, uint64_t> &globals)
        : module(module), program(program), globals(globals) {
        place_mentioned();
    }

    uint64_t find(const std::string &name, Space &space) const {
        const auto placed = places.find(name);
        if (placed != places.end()) {
            space = placed->second.space;
            return placed->second.address;
        }
        throw Error(Status::invalid_ptx, "there is no variable " + name);
    }

private:
    struct Place {
        Space space;
        uint64_t address;
    };
    const PtxModule &module;
    Program &program;
    const std::map<std::string, uint64_t> &globals;
    std::map<std::string, Place> places;

    const Variable *variable(const std::string &name) const {
        const auto own = program.kernel.variables.find(name);
        if (own != program.kernel.variables.end()) return &own->second;
        const auto shared_by_all = module.variables.find(name);
        return shared_by_all != module.variables.end() ? &shared_by_all->second : nullptr;
    }

    void place(const std::string &name, const Variable &variable) {
        uint64_t address = 0;
        if (variable.space == Space::shared) {
            program.static_shared = round_up(program.static_shared, variable.align);
            address = shared_start + program.static_shared;
            program.static_shared += variable.bytes;
        } else if (variable.space == Space::local) {
            address = program.local_bytes = round_up(program.local_bytes, variable.align);
            program.local_bytes += variable.bytes;
        } else {
            address = globals.at(name);
        }
        places[name] = {variable.space, address};
    }

    void place_mentioned() {
        std::map<std::string, const Variable *> dynamic;
        const auto mention = [&](const Operand &operand) {
            const Variable *found = operand.name.empty() || places.count(operand.name) ? nullptr : variable(operand.name);
            if (found != nullptr && found->is_extern) {
                dynamic[operand.name] = found;
                program.shared_align = std::max(program.shared_align, found->align);
            } else if (found != nullptr) {
                place(operand.name, *found);
            }
        };
        for (const Statement &statement : program.kernel.code) {
            for (const Operand &operand : statement.operands) {
                mention(operand);
                for (const Operand &element : operand.elements)
                    mention(element);
            }
        }
        program.static_shared = round_up(program.static_shared, dynamic.empty() ? 1 : program.shared_align);
        for (const auto &[name, found] : dynamic)
            places[name] = {Space::shared, shared_start + program.static_shared};
    }
};

void decode_statement(Program &program, Slots &slots, const Symbols &symbols, uint32_t index) {
    const Statement &statement = program.kernel.code[index];
    try {
        Decoder decoder(program, slots, symbols, statement, index);
        const auto found = decode_table().find(statement.parts[0]);
        if (found == decode_table().end()) decoder.refuse("the emulator does not know " + statement.parts[0]);
        found->second(decoder);
        if (statement.guard >= 0) {
            decoder.out.guard = slots.reg(statement.guard);
            program.uses.push_back({decoder.out.guard, true, false}); // the last of the uses
        }
        decoder.finish();
    } catch (const Error &error) {
        throw Error(error.status, "PTX line " + std::to_string(statement.line) + ", \"" + statement.text + "\": " + error.what());
    }
}

} // namespace

std::unique_ptr<Program> decode(const PtxModule &module, const PtxKernel &kernel, const std::map<std::string, uint64_t> &globals,
                                bool shares_registers) {
    auto program = std::make_unique<Program>();
    program->kernel = kernel;
    program->shares_registers = shares_registers;
    Slots slots(*program);
    const VariableLayout layout(module, *program, globals);
    const Symbols symbols = [&](const std::string &name, Space &space) { return layout.find(name, space); };
    for (uint32_t i = 0; i < kernel.code.size(); ++i)
        decode_statement(*program, slots, symbols, i);
    program->has_wgmma = std::any_of(kernel.code.begin(), kernel.code.end(), [](const Statement &s) { return s.parts[0] == "wgmma"; });
    Instruction end;
    end.flow = Flow::exit;
    end.first = static_cast<uint32_t>(program->uses.size());
    end.statement = static_cast<uint32_t>(kernel.code.size());
    program->code.push_back(end);
    allocate_registers(*program);
    return program;
}

} // namespace attune::emulator
