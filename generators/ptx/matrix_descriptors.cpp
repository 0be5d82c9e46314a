#include "matrix_descriptors.h"

namespace attune::ptx {

namespace {

/** All of a descriptor but the address (PTX ISA, "Matrix Descriptor Format"): bits 16 to 29 the leading and 32 to 45 the stride offset in
 * pieces of 16 bytes, bits 62 and 63 the swizzle. */
int64_t layout_bits(const MatrixLayout &layout) {
    const uint64_t code = layout.swizzle == 128 ? 1 : layout.swizzle == 64 ? 2 : 3;
    const uint64_t leading = layout.leading == 0 ? 1 : static_cast<uint64_t>(layout.leading) / 16; // 1 where it isn't used
    const uint64_t stride = static_cast<uint64_t>(layout.swizzle) * 8 / 16;
    return static_cast<int64_t>(code << 62 | stride << 32 | leading << 16);
}

Operand number(int64_t value) { return Operand::immediate(std::to_string(value)); }

} // namespace

void MatrixDescriptors::add(const std::string &opcode, std::vector<Operand> operands) {
    statements_.push_back(Body::make(line_, opcode, std::move(operands)));
}

// Bits 4 to 17 of the address go to bits 0 to 13.
Operand MatrixDescriptors::base_of(const Operand &base, const MatrixLayout &layout) {
    const int64_t bits = layout_bits(layout);
    Operand &made = bases_[base.name + " " + std::to_string(bits)];
    if (made.kind != Operand::Kind::sink) return made;
    made = Operand::reg(body_.fresh("b64"));
    add("attune.shared_address.u64", {made, Operand::address(base, 0)});
    add("and.b64", {made, made, number(0x3ffff)});
    add("shr.u64", {made, made, number(4)});
    add("or.b64", {made, made, number(bits)});
    return made;
}

// Shared memory ends below the 18 bits of an address: an offset added to them carries into none of the others.
Operand MatrixDescriptors::describe(const Operand &address, const MatrixLayout &layout) {
    const Operand base = base_of(address.elements.at(0), layout);
    if (address.offset == 0) return base;
    const Operand made = Operand::reg(body_.fresh("b64"));
    add("add.s64", {made, base, number(address.offset / 16)});
    return made;
}

} // namespace attune::ptx
