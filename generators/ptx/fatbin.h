// The container that carries one module for several architectures, as the CUDA driver loads it.
#pragma once

#include <string>
#include <vector>

namespace attune::ptx {

struct Image {
    enum class Kind { ptx, cubin };
    Kind kind = Kind::ptx;
    std::string arch;    // "sm_80", "sm_90a": the cubin's, or the PTX's .target
    std::string content; // PTX text, or a cubin: an ELF file
};

/** The bytes of a fatbin with the images, uncompressed: byte for byte what NVIDIA's fatbinary writes, but that it drops blanks
 *  at the beginning of PTX lines. Throws Error where an image is none.
 *
 *  Everything is little endian. The container begins with 16 bytes: u32 magic 0xBA55ED50, u16 version 1, u16 size of this header (16), u64
 *  bytes that follow it. Each image then has a header of 64 bytes, of PTX 80:
 *     0 u16 kind: 1 PTX, 2 cubin        2 u16 0x0101           4 u32 size of this header      8 u64 size of the content, padded to 8 bytes
 *    16 u32 compressed size (0)        20 u32 where in the header ptxas's options stand (PTX: 64)
 *    24 u16 minor, 26 u16 major version: of PTX; of a cubin 1 and the ABI version in its ELF header
 *    28 u32 architecture: 80           32 u32, 36 u32 place and length of a name (none)
 *    40 u64 flags: 0x11, 64 bits for Linux, and 0x100000 for an architecture with an "a"
 *    48 u64 0                          56 u64 uncompressed size (0: not compressed)
 *    64 PTX only: u32 where the options' text stands (72), u32 its length (0), and 8 zeros in its place
 *  PTX ends with a zero byte. */
std::string make_fatbin(const std::vector<Image> &images);

} // namespace attune::ptx
