// Types of PTX: a kind and a number of bits.
#pragma once

#include <cstdint>
#include <string>

namespace attune::emulator {

enum class Kind : uint8_t { bits, unsigned_integer, signed_integer, real, brain, predicate, real_pair, brain_pair, tensor_real };

/** b32, u8, s64, f16, bf16, f16x2, bf16x2, tf32 or pred. */
struct Type {
    Kind kind = Kind::bits;
    int bits = 32;

    bool operator==(const Type &other) const { return kind == other.kind && bits == other.bits; }
    bool is_float() const {
        return kind != Kind::bits && kind != Kind::unsigned_integer && kind != Kind::signed_integer && kind != Kind::predicate;
    }
    bool is_integer() const { return kind == Kind::bits || kind == Kind::unsigned_integer || kind == Kind::signed_integer; }
    bool is_signed() const { return kind == Kind::signed_integer; }
    bool is_pair() const { return kind == Kind::real_pair || kind == Kind::brain_pair; }
};

inline constexpr Type predicate_type{Kind::predicate, 1}, b16{Kind::bits, 16}, b32{Kind::bits, 32}, b64{Kind::bits, 64};
inline constexpr Type u32{Kind::unsigned_integer, 32}, f32{Kind::real, 32}, f16{Kind::real, 16}, bf16{Kind::brain, 16};

/** Reads a type's name, without the dot. False, and no change, where it is none. */
bool read_type(const std::string &name, Type &type);

} // namespace attune::emulator
