// Descriptors of matrices in shared memory, as wgmma takes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "body.h"

namespace attune::ptx {

/** How a matrix lies in shared memory: in lines of `swizzle` bytes, whose pieces of 16 bytes are swizzled, eight lines after one another.
 */
struct MatrixLayout {
    int swizzle = 128; // bytes: 128, 64 or 32
    int leading = 0; // bytes; lines run along N: from one group of lines to the next along N. 0: lines run along K, and there is one group
};

/** Makes registers with descriptors; those of one base register share its part. The statements go where they are used. */
class MatrixDescriptors {
public:
    MatrixDescriptors(Body &body, int line, std::vector<Instruction> &statements) : body_(body), line_(line), statements_(statements) {}

    /** Of the matrix that begins at a shared address, a multiple of 16 bytes: "[%rd1+32]". */
    Operand describe(const Operand &address, const MatrixLayout &layout);

private:
    Operand base_of(const Operand &base, const MatrixLayout &layout);
    void add(const std::string &opcode, std::vector<Operand> operands);

    Body &body_;
    const int line_;
    std::vector<Instruction> &statements_;
    std::map<std::string, Operand> bases_; // by what they are made of
};

} // namespace attune::ptx
