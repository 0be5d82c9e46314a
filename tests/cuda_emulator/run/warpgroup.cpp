// wgmma: products of 64 rows by a warpgroup of four warps, of which each does its 16 rows when it comes to the instruction. Sums appear
// when their group is waited for, and until then the registers hold NaN; matrices in shared memory must be the same then as at the issue.
#include "block.h"
#include "operations.h"
#include "tile_product.h"

namespace attune::emulator {
namespace {

/** A matrix in shared memory, as a descriptor tells. Strides are in bytes. */
class SharedMatrix {
public:
    SharedMatrix(Warp &w, uint64_t descriptor, bool transposed)
        : w(w), start((descriptor & 0x3fff) << 4), leading((descriptor >> 16 & 0x3fff) << 4), stride((descriptor >> 32 & 0x3fff) << 4),
          transposed(transposed) {
        static const uint32_t widths[] = {16, 128, 64, 32};
        width = widths[descriptor >> 62];
        if ((descriptor >> 49 & 7) != 0) throw launch_error("the emulator knows no base offset in a matrix descriptor");
        if (width == 16 && transposed) throw launch_error("the emulator knows no transposed matrix without swizzling");
    }

    /** Eight elements: of row `row` from column 8 * `eighth`; of a transposed matrix of column `row` from row 8 * `eighth`. */
    const uint8_t *chunk(uint32_t row, uint32_t eighth) const {
        uint64_t at;
        if (transposed) { // `width` bytes of a column, then the next column; eight columns to a tile
            const uint32_t per_line = width / 16;
            at = start + eighth / per_line * leading + row / 8 * stride + row % 8 * width + eighth % per_line * 16;
        } else if (width == 16) {
            at = start + eighth * leading + row / 8 * stride + row % 8 * 16;
        } else {
            at = start + row / 8 * stride + row % 8 * width + eighth * 16;
        }
        return w.block->read_by_proxy(w, swizzle(at));
    }

private:
    Warp &w;
    uint64_t start, leading, stride;
    bool transposed;
    uint32_t width; // of the swizzle, in bytes

    /** Bits 4 to 6 change with bits 7 to 9, fewer of them for a narrower swizzle. */
    uint64_t swizzle(uint64_t address) const { return address ^ ((address >> 7 & (width / 16 - 1)) << 4); }
};

constexpr uint32_t depth = 16, max_columns = 256;
// Flags of the instruction.
constexpr uint32_t brains = 1, from_registers = 2, transposed_a = 4, transposed_b = 8, negated_a = 16, negated_b = 32;

void widen(uint32_t flags, const void *from, float *to, int count) {
    flags &brains ? widen_brains(from, to, count) : widen_halves(from, to, count);
}

/** The warp's 16 rows of A from shared memory. */
void load_a(Warp &w, const SharedMatrix &matrix, uint32_t flags, float *a) {
    const uint32_t first = w.index % 4 * 16;
    if (flags & transposed_a) {
        float line[8];
        for (uint32_t k = 0; k < depth; ++k) {
            for (uint32_t eighth = 0; eighth < 2; ++eighth) {
                widen(flags, matrix.chunk(k, first / 8 + eighth), line, 8);
                for (uint32_t i = 0; i < 8; ++i)
                    a[(8 * eighth + i) * depth + k] = line[i];
            }
        }
        return;
    }
    for (uint32_t row = 0; row < 16; ++row) {
        for (uint32_t eighth = 0; eighth < 2; ++eighth)
            widen(flags, matrix.chunk(first + row, eighth), a + row * depth + 8 * eighth, 8);
    }
}

/** The same from the registers of a fragment. */
void load_a(Warp &w, const uint32_t *rows, uint32_t flags, float *a) {
    float part[64];
    for (uint32_t i = 0; i < 4; ++i) {
        widen(flags, w.row<uint32_t>(rows[i]), part, 64);
        for (uint32_t g = 0; g < 8; ++g)
            std::memcpy(a + (8 * (i % 2) + g) * depth + 8 * (i / 2), part + 8 * g, 32);
    }
}

/** b[16][columns]. */
void load_b(const SharedMatrix &matrix, uint32_t columns, uint32_t flags, float *b) {
    float lines[64], turned[64];
    for (uint32_t n = 0; n < columns; n += 8) {
        for (uint32_t eighth = 0; eighth < 2; ++eighth) {
            for (uint32_t i = 0; i < 8; ++i) {
                if (flags & transposed_b) {
                    widen(flags, matrix.chunk(8 * eighth + i, n / 8), b + (8 * eighth + i) * columns + n, 8);
                } else {
                    widen(flags, matrix.chunk(n + i, eighth), lines + 8 * i, 8);
                }
            }
            if (flags & transposed_b) continue;
            transpose8(lines, 8, turned);
            for (uint32_t k = 0; k < 8; ++k)
                std::memcpy(b + (8 * eighth + k) * columns + n, turned + 8 * k, 32);
        }
    }
}

uint64_t uniform(const uint64_t *row) {
    for (uint32_t lane = 1; lane < warp_size; ++lane) {
        if (row[lane] != row[0]) throw launch_error("a matrix descriptor differs within the warp");
    }
    return row[0];
}

/** The sums of the row, once all that adds to them is done. */
PendingSums &sums_of(Warp &w, uint32_t row) {
    const auto [found, is_new] = w.products.sums.try_emplace(row);
    if (is_new) std::memcpy(found->second.lanes.data(), w.row<float>(row), sizeof found->second.lanes);
    return found->second;
}

void add_tile(Warp &w, const uint32_t *rows, const float *product, float sign, bool keeps) {
    for (uint32_t i = 0; i < 4; ++i) {
        PendingSums &sums = sums_of(w, rows[i]);
        ++sums.products;
        const float *from = product + 64 * (i / 2) + i % 2;
        for (uint32_t lane = 0; lane < warp_size; ++lane)
            sums.lanes[lane] = (keeps ? sums.lanes[lane] : 0.f) + sign * from[2 * lane];
        std::memset(w.row<float>(rows[i]), 0xff, sizeof sums.lanes);
    }
}

constexpr size_t size_a = 16 * depth;

/** What the product reads of shared memory. */
void load_shared(Warp &w, GroupProduct &p) {
    const Instruction &x = *p.instruction;
    p.matrix_a.resize(x.flags & from_registers ? 0 : size_a);
    if (!p.matrix_a.empty()) load_a(w, SharedMatrix(w, p.a, (x.flags & transposed_a) != 0), x.flags, p.matrix_a.data());
    p.matrix_b.resize(depth * x.count * 2);
    load_b(SharedMatrix(w, p.b, (x.flags & transposed_b) != 0), x.count * 2, x.flags, p.matrix_b.data());
}

/** Rows: sums, A's fragment or descriptor, B's descriptor, whether the sums are kept. */
void multiply(Warp &w, const Instruction &x) {
    require_converged(w, all_lanes);
    if (!w.products.fenced) throw launch_error("there is no wgmma.fence between this and the last wait, or the kernel's beginning");
    const uint32_t columns = x.count * 2, *operands = x.rows + x.count;
    const bool registers = (x.flags & from_registers) != 0;
    const uint32_t *after_a = operands + (registers ? 4 : 1);
    GroupProduct p{&x, registers ? 0 : uniform(w.row<uint64_t>(operands[0])), uniform(w.row<uint64_t>(after_a[0])), {}, {}};
    w.block->issue_product(w, x, p.a, p.b);
    load_shared(w, p);
    alignas(32) float fragment[size_a], product[128];
    if (registers) load_a(w, operands, x.flags, fragment);
    const uint32_t kept = w.mask(after_a[1]);
    if (kept != 0 && kept != all_lanes) throw launch_error("scale-d differs within the warp");
    const float sign = ((x.flags & negated_a) != 0) != ((x.flags & negated_b) != 0) ? -1.f : 1.f;
    for (uint32_t n = 0; n < columns; n += 8) {
        multiply_tile(registers ? fragment : p.matrix_a.data(), p.matrix_b.data() + n, static_cast<int>(columns), depth, product);
        add_tile(w, x.rows + n / 2, product, sign, kept != 0);
    }
    w.products.open.push_back(std::move(p));
}

bool same_bytes(const std::vector<float> &a, const std::vector<float> &b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void finish(Warp &w, const GroupProduct &p) {
    GroupProduct again{p.instruction, p.a, p.b, {}, {}};
    load_shared(w, again);
    if (!same_bytes(p.matrix_a, again.matrix_a) || !same_bytes(p.matrix_b, again.matrix_b))
        throw launch_error("shared memory changed between a wgmma that reads it and the wait for it");
    for (uint32_t i = 0; i < p.instruction->count; ++i) {
        const auto sums = w.products.sums.find(p.instruction->rows[i]);
        if (--sums->second.products != 0) continue;
        std::memcpy(w.row<float>(sums->first), sums->second.lanes.data(), sizeof sums->second.lanes);
        w.products.sums.erase(sums);
    }
}

void fence(Warp &w, const Instruction &) {
    require_converged(w, all_lanes);
    w.products.fenced = true;
}

void commit_group(Warp &w, const Instruction &) {
    require_converged(w, all_lanes);
    w.products.groups.push_back(std::move(w.products.open));
    w.products.open.clear();
}

void wait_for_groups(Warp &w, const Instruction &x) {
    require_converged(w, all_lanes);
    auto &groups = w.products.groups;
    for (; groups.size() > static_cast<uint64_t>(x.immediate); groups.pop_front()) {
        for (const GroupProduct &product : groups.front())
            finish(w, product);
    }
    w.products.fenced = false;
}

uint32_t sign_flag(Decoder &d, size_t operand, uint32_t flag) {
    const auto scale = static_cast<int64_t>(d.immediate(operand));
    if (scale != 1 && scale != -1) d.refuse("a scale is neither 1 nor -1");
    return scale < 0 ? flag : 0;
}

void decode_group_multiply(Decoder &d) {
    const auto &sums = d.operand(0).elements;
    const std::string shape = "m64n" + std::to_string(sums.size() * 2) + "k16";
    if (!d.has("sync") || !d.has("aligned") || !d.has(shape.c_str()) || sums.size() % 4 != 0 || sums.size() * 2 > max_columns) d.refuse();
    if (!(d.type(0) == f32) || !(d.type(1) == d.type(2)) || !(d.type(1) == bf16 || d.type(1) == f16)) d.refuse();
    d.out.count = static_cast<uint32_t>(sums.size());
    d.out.flags = d.type(1) == bf16 ? brains : 0;
    const bool overwrites = d.operand(3).form == Operand::Form::number && d.operand(3).bits == 0;
    for (const Operand &sum : sums)
        d.write_later(sum, f32, !overwrites);
    const bool registers = d.operand(1).form == Operand::Form::list;
    if (d.operands() != (registers ? 7 : 8)) d.refuse();
    if (registers) {
        if (d.operand(1).elements.size() != 4) d.refuse();
        for (const Operand &element : d.operand(1).elements)
            d.read(element, b32);
        d.out.flags |= from_registers;
    } else {
        d.source(1, b64);
        d.out.flags |= d.immediate(6) != 0 ? transposed_a : 0;
    }
    d.source(2, b64);
    d.source(3, predicate_type);
    d.out.flags |= sign_flag(d, 4, negated_a) | sign_flag(d, 5, negated_b) | (d.immediate(registers ? 6 : 7) != 0 ? transposed_b : 0);
    d.out.run = multiply;
}

void decode_warpgroup(Decoder &d) {
    if (d.has("mma_async")) return decode_group_multiply(d);
    const int which = d.one_of({"fence", "commit_group", "wait_group"});
    if (!d.has("sync") || !d.has("aligned") || which < 0) d.refuse();
    d.out.run = which == 0 ? fence : which == 1 ? commit_group : wait_for_groups;
    if (which == 2) d.out.immediate = static_cast<int64_t>(d.immediate(0));
}

} // namespace

void add_warpgroup_opcodes(DecodeTable &table) { table["wgmma"] = decode_warpgroup; }

} // namespace attune::emulator
