// Arithmetic that integers and floating point have in common, and the opcodes that mean either.
#pragma once

#include <limits>

#include "operations.h"

namespace attune::emulator {

struct Add {
    template <class T> static T apply(T a, T b) { return static_cast<T>(a + b); }
};
struct Subtract {
    template <class T> static T apply(T a, T b) { return static_cast<T>(a - b); }
};
struct Multiply {
    template <class T> static T apply(T a, T b) { return static_cast<T>(a * b); }
};
struct Minimum {
    template <class T> static T apply(T a, T b) { return a < b ? a : b; }
};
struct Maximum {
    template <class T> static T apply(T a, T b) { return a < b ? b : a; }
};
struct Negate {
    template <class T> static T apply(T a) { return static_cast<T>(-a); }
};
struct Absolute {
    template <class T> static T apply(T a) { return static_cast<T>(a < 0 ? -a : a); }
};

void decode_integer_add(Decoder &d);
void decode_integer_subtract(Decoder &d);
void decode_integer_multiply(Decoder &d);
void decode_integer_multiply_add(Decoder &d);
void decode_integer_divide(Decoder &d);
void decode_integer_minimum(Decoder &d);
void decode_integer_maximum(Decoder &d);
void decode_integer_negate(Decoder &d);
void decode_integer_absolute(Decoder &d);

} // namespace attune::emulator
