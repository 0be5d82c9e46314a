#include <algorithm>

#include "family.h"
#include "printer.h"
#include "warp_families.h"

namespace attune::ptx {

namespace {

// The descriptor of a tile in shared memory: rows of 128 bytes, swizzled by 128 bytes, groups of 8 rows 1024 bytes apart.
constexpr const char *descriptor_bits = "4611686293305360384"; // 1 << 62 | (1024 >> 4) << 32 | 1 << 16

/** "m64n128k16" and what it implies, from warp_wgmma_m64n128k16_bf16. */
struct Shape {
    std::string text, type;
    size_t elements = 0; // N / 2, registers of the accumulator

    explicit Shape(const Instruction &call) {
        const std::string &name = call.name;
        const size_t begin = name.find("m64n"), end = name.find("k16_");
        const std::string columns = begin == std::string::npos || end < begin + 4 ? "" : name.substr(begin + 4, end - begin - 4);
        const bool number = !columns.empty() && columns.size() < 4 && columns.find_first_not_of("0123456789") == std::string::npos;
        const size_t n = number ? std::stoul(columns) : 0;
        if (end != std::string::npos) type = name.substr(end + 4);
        if (begin != 11 || n < 8 || n > 256 || n % 8 != 0 || (type != "bf16" && type != "f16"))
            throw error_at(call, "unknown warp operation " + name + ": N must be a multiple of 8 up to 256, the type bf16 or f16");
        text = name.substr(begin, end + 3 - begin);
        elements = n / 2;
    }
};

/** A chain of families. Its instructions stand where the last sum stood. */
class Chain {
public:
    Chain(Body &body, size_t first) : body_(body), first_(first), shape_(body[first]) {
        for (size_t next = first; next != none; next = next_family())
            add(next);
    }

    void check() const {
        check_unchanged(body_, registers_of(addresses_), first_, last_);
        for (size_t i = first_; i < last_; ++i) {
            if (members_.count(i)) continue;
            for (size_t r = 0; r < shape_.elements; ++r) {
                const bool busy = body_.reads(i, sums_[r]) || body_.defines(i, sums_[r]);
                const bool start_changes = start_[r].is_register() && body_.defines(i, start_[r].name);
                if (busy || start_changes) throw error_at(body_[i], "an accumulator of a wgmma is busy inside its chain");
            }
        }
    }

    void replace() {
        const int line = body_[first_].line;
        std::vector<Instruction> statements;
        std::vector<Operand> accumulators;
        for (const std::string &sum : sums_)
            accumulators.push_back(Operand::reg(sum));
        const std::vector<Operand> descriptors = describe(line, statements);
        move_start(line, statements);
        statements.push_back(Body::make(line, "wgmma.fence.sync.aligned", {}));
        const std::string opcode = "wgmma.mma_async.sync.aligned." + shape_.text + ".f32." + shape_.type + "." + shape_.type;
        const Operand one = Operand::immediate("1"), zero = Operand::immediate("0");
        for (size_t i = 0; i < descriptors.size(); i += 2)
            statements.push_back(Body::make(
                line, opcode, {Operand::vector_of(accumulators), descriptors[i], descriptors[i + 1], one, one, one, zero, zero}));
        statements.push_back(Body::make(line, "wgmma.commit_group.sync.aligned", {}));
        statements.push_back(Body::make(line, "wgmma.wait_group.sync.aligned", {zero}));
        for (size_t i : members_)
            body_.erase(i);
        body_.replace(last_, std::move(statements));
    }

private:
    static constexpr size_t none = static_cast<size_t>(-1);

    void add(size_t at) {
        const Family family = find_family(body_, at, shape_.elements);
        if (family.arguments.size() < 2) throw error_at(body_[at], body_[at].name + " takes an element number and two words");
        for (size_t a = 0; a < 2; ++a)
            addresses_.push_back(loaded_from(body_, family.arguments[a], at));
        std::vector<Operand> before;
        std::vector<std::string> after;
        for (size_t r = 0; r < shape_.elements; ++r) {
            const Sum sum = find_sum(body_, family, r);
            if (sum.dead || sum.addends.size() != 1)
                throw error_at(body_[sum.position], "the result of a wgmma is not just added to an accumulator");
            before.push_back(sum.addends[0]);
            after.push_back(sum.target);
            members_.insert({family.calls[r], sum.position});
            last_ = std::max(last_, sum.position);
        }
        if (start_.empty()) start_ = before;
        for (size_t r = 0; r < sums_.size(); ++r)
            if (before[r] != Operand::reg(sums_[r]) || body_.uses_of(sums_[r]) != 1)
                throw error_at(body_[at], "a wgmma does not continue the sums of the one before it");
        sums_ = std::move(after);
    }

    /** The next family of the same function in the block, or none. */
    size_t next_family() const {
        for (size_t i = last_ + 1; i < body_.size() && !body_.ends_block(i); ++i)
            if (body_[i].is_call() && body_[i].name == body_[first_].name) return i;
        return none;
    }

    /** Registers with the descriptors of all addresses: bits 4 to 17 of each, and what says the layout. */
    std::vector<Operand> describe(int line, std::vector<Instruction> &statements) {
        std::vector<Operand> result;
        for (const Operand &address : addresses_) {
            const Operand d = Operand::reg(body_.fresh("b64"));
            statements.push_back(Body::make(line, "attune.shared_address.u64", {d, address}));
            statements.push_back(Body::make(line, "and.b64", {d, d, Operand::immediate("262143")}));
            statements.push_back(Body::make(line, "shr.u64", {d, d, Operand::immediate("4")}));
            statements.push_back(Body::make(line, "or.b64", {d, d, Operand::immediate(descriptor_bits)}));
            result.push_back(d);
        }
        return result;
    }

    /** The instruction adds to its own registers: they take the start's values first. */
    void move_start(int line, std::vector<Instruction> &statements) {
        const std::set<std::string> targets(sums_.begin(), sums_.end());
        for (size_t r = 0; r < shape_.elements; ++r) {
            const Operand target = Operand::reg(sums_[r]);
            if (start_[r] == target) continue;
            if (start_[r].is_register() && targets.count(start_[r].name))
                throw error_at(body_[first_], "accumulators of a wgmma are permuted");
            statements.push_back(Body::make(line, "mov.b32", {target, start_[r]}));
        }
    }

    Body &body_;
    size_t first_, last_ = 0;
    Shape shape_;
    std::vector<Operand> start_, addresses_; // addresses: a, b, a, b, ...
    std::vector<std::string> sums_;
    std::set<size_t> members_;
};

} // namespace

void replace_wgmma(Body &body, size_t first) {
    Chain chain(body, first);
    chain.check();
    chain.replace();
}

} // namespace attune::ptx
