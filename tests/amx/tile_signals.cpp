#include "tile_signals.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <cpuid.h>

#include "tile_emulator.h"

namespace attune::test {

namespace {

/** The registers that the kernel saved for a signal in XSAVE's standard format, which it restores after the handler. */
class SavedRegisters final : public VectorRegisters {
public:
    enum Component { sse = 1, avx = 2, zmm_high = 6, zmm_16_to_31 = 7, tile_configuration = 17 };

    explicit SavedRegisters(void *area) : area(static_cast<uint8_t *>(area)) {}

    /** True if they are in that format, not in the older one that has the first 16 registers' 128 bits alone. */
    bool is_extended() const { return number<uint32_t>(kernel_magic_offset) == kernel_magic; }
    /** True if the operating system gives processes the component. */
    bool has(Component component) const { return number<uint64_t>(kernel_components_offset) >> component & 1; }

    uint16_t word(int vector) const override {
        const Place place = low_bits(vector);
        return is_zero(place.component) ? 0 : number<uint16_t>(offset(place));
    }

    void set_word(int vector, uint16_t word) override {
        const Place low = low_bits(vector);
        if (is_zero(low.component)) {
            std::memset(area + offset({low.component, 0}), 0, 16 * low.bytes);
            const uint64_t now = number<uint64_t>(components_offset) | 1u << low.component;
            std::memcpy(area + components_offset, &now, sizeof(now));
        }
        clear(low);
        std::memcpy(area + offset(low), &word, sizeof(word));
        if (vector >= 16) return;
        clear({avx, vector, 16});
        clear({zmm_high, vector, 32});
    }

    TileConfiguration configuration() const {
        TileConfiguration configuration;
        if (!is_zero(tile_configuration)) std::memcpy(&configuration, area + offset({tile_configuration, 0}), sizeof(configuration));
        return configuration;
    }

private:
    // SDM volume 1, 13.4; Linux' own words are in bytes of the legacy region that the CPU leaves alone (struct _fpx_sw_bytes).
    static constexpr int registers_offset = 160, kernel_magic_offset = 464, kernel_components_offset = 472, components_offset = 512;
    static constexpr uint32_t kernel_magic = 0x46505853;

    /** Some of a register's bits: the nth of so many bytes in a component. */
    struct Place {
        Component component;
        int nth, bytes = 0;
    };

    uint8_t *area;

    template <typename Number> Number number(int at) const {
        Number number;
        std::memcpy(&number, area + at, sizeof(number));
        return number;
    }

    /** True if the registers of the component are as at first, whatever the area has for them. */
    bool is_zero(Component component) const { return (number<uint64_t>(components_offset) >> component & 1) == 0; }

    static Place low_bits(int vector) { return vector < 16 ? Place{sse, vector, 16} : Place{zmm_16_to_31, vector - 16, 64}; }

    static int offset(Place place) {
        static const std::array<int, tile_configuration + 1> first = [] { // asked once: hypervisors take their time to answer
            std::array<int, tile_configuration + 1> first = {};
            for (Component component : {avx, zmm_high, zmm_16_to_31, tile_configuration}) {
                unsigned size = 0, start = 0, flags = 0, reserved = 0;
                __get_cpuid_count(0xd, component, &size, &start, &flags, &reserved);
                first[component] = int(start);
            }
            first[sse] = registers_offset;
            return first;
        }();
        return first[place.component] + place.nth * place.bytes;
    }

    void clear(Place place) {
        if (!is_zero(place.component)) std::memset(area + offset(place), 0, place.bytes);
    }
};

thread_local Tiles tiles;

struct sigaction before;

void handle(int, siginfo_t *, void *context) {
    // The instruction faults again then, as if there were no emulator.
    if (!emulate_at(static_cast<ucontext_t *>(context)->uc_mcontext)) sigaction(SIGILL, &before, nullptr);
}

bool is_set(const char *variable, std::string_view value) {
    const char *setting = std::getenv(variable);
    return setting && setting == value;
}

bool cpu_has_tiles() {
    constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & amx_bf16) != 0 && (edx & amx_tile) != 0;
}

} // namespace

bool emulate_at(mcontext_t &machine) {
    constexpr int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    SavedRegisters vectors(machine.fpregs);
    if (!vectors.is_extended()) return false;
    // A CPU with tiles doesn't fault at instructions that only configure them: it has done these itself.
    if (vectors.has(SavedRegisters::tile_configuration)) {
        const TileConfiguration configuration = vectors.configuration();
        if (std::memcmp(&configuration, &tiles.configuration, sizeof(configuration)) != 0 && !tiles.configure(configuration)) return false;
    }
    uint64_t general[16];
    for (int i = 0; i < 16; ++i)
        general[i] = uint64_t(machine.gregs[order[i]]);
    const int length = emulate(reinterpret_cast<const uint8_t *>(machine.gregs[REG_RIP]), general, vectors, tiles);
    if (length == 0) return false;
    for (int i = 0; i < 16; ++i)
        machine.gregs[order[i]] = greg_t(general[i]);
    machine.gregs[REG_RIP] += length;
    return true;
}

} // namespace attune::test

extern "C" bool attune_emulates_tiles() {
    using namespace attune::test;
    static const bool emulates = [] {
        if (!is_set("EMULATE_TILES", "1") && (cpu_has_tiles() || !is_set("ATTUNE_CPU", "avx512_amx"))) return false;
        struct sigaction action = {};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO;
        return sigaction(SIGILL, &action, &before) == 0;
    }();
    return emulates;
}
