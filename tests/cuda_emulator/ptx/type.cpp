#include "type.h"

#include <cstring>

namespace attune::emulator {

static bool read_named_type(const std::string &name, Type &type) {
    static const struct {
        const char *name;
        Type type;
    } named[] = {{"pred", predicate_type},
                 {"bf16", bf16},
                 {"bf16x2", {Kind::brain_pair, 32}},
                 {"f16x2", {Kind::real_pair, 32}},
                 {"tf32", {Kind::tensor_real, 32}}};
    for (const auto &entry : named) {
        if (name == entry.name) {
            type = entry.type;
            return true;
        }
    }
    return false;
}

bool read_type(const std::string &name, Type &type) {
    if (read_named_type(name, type)) return true;
    if (name.size() < 2 || name.size() > 3 || !std::strchr("busf", name[0])) return false;
    const int bits = name.substr(1) == "8"    ? 8
                     : name.substr(1) == "16" ? 16
                     : name.substr(1) == "32" ? 32
                     : name.substr(1) == "64" ? 64
                                              : 0;
    if (bits == 0) return false;
    type.kind = name[0] == 'b' ? Kind::bits : name[0] == 'u' ? Kind::unsigned_integer : name[0] == 's' ? Kind::signed_integer : Kind::real;
    type.bits = bits;
    return true;
}

} // namespace attune::emulator
