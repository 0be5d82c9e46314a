// Fat binaries: device code for several architectures in one piece, as fatbinary(1) writes it.
//
// All numbers are little endian. The container begins with 16 bytes:
//   0  u32 magic 0xBA55ED50     4  u16 version 1     6  u16 size of this header (16)     8  u64 bytes of the entries that follow
// Each entry has a header and, right after it, its payload, which is padded to a multiple of 8:
//   0  u16 kind: 1 PTX, 2 ELF (a cubin)     2  u16 version 0x101     4  u32 size of this header (64, of PTX 80)
//   8  u64 bytes of the payload, with padding     16  u32 bytes of the compressed payload, 0 where it isn't compressed
//   28  u32 architecture: 80 for sm_80     40  u64 flags; 0x8000: compressed (zstd)     56  u64 bytes once expanded, 0 where not compressed
// Numbers left out here are PTX versions and offsets of names. Uncompressed PTX comes from `fatbinary --compress=false`.
#pragma once

#include <string>

namespace attune::emulator {

/** The PTX in what cuModuleLoadData gets: text, a fat binary, or the wrapper that host compilers put around one (magic 0x466243B1, with
 *  the address of the fat binary at byte 8). Of a fat binary it is the PTX of the highest architecture that is not above `target`
 * (90: 9.0). Throws Error where there is none, or only machine code or compressed PTX. */
std::string find_ptx(const void *image, int target);

} // namespace attune::emulator
