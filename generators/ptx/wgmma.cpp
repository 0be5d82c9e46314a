#include <algorithm>

#include "family.h"
#include "matrix_descriptors.h"
#include "opcodes.h"
#include "printer.h"
#include "warp_families.h"

namespace attune::ptx {

namespace {

constexpr size_t no_family = static_cast<size_t>(-1);

/** "m64n128k16" and what it implies, from warp_wgmma_ss_m64n128k16_bf16. */
struct Shape {
    std::string text, type;
    size_t elements = 0; // N / 2, registers of the accumulator
    bool a_in_registers = false;

    explicit Shape(const Instruction &call) {
        const std::string &name = call.name;
        const size_t begin = name.find("_m64n"), end = name.find("k16_");
        const std::string columns = begin == std::string::npos || end < begin + 5 ? "" : name.substr(begin + 5, end - begin - 5);
        const bool number = !columns.empty() && columns.size() < 4 && columns.find_first_not_of("0123456789") == std::string::npos;
        const size_t n = number ? std::stoul(columns) : 0;
        if (end != std::string::npos) type = name.substr(end + 4, name.find("_ahead") - end - 4);
        const std::string operands = name.substr(0, std::min(begin, name.size()));
        a_in_registers = operands == "warp_wgmma_rs";
        const bool known = a_in_registers || operands == "warp_wgmma_ss";
        if (!known || n < 8 || n > 256 || n % 8 != 0 || (type != "bf16" && type != "f16"))
            throw error_at(call, "unknown warp operation " + name +
                                     ": operands must be ss or rs, N a multiple of 8 up to 256, the type bf16 or f16");
        text = name.substr(begin + 1, end + 2 - begin);
        elements = n / 2;
    }

    size_t arguments() const { return a_in_registers ? 7 : 3; }
    std::string opcode() const { return "wgmma.mma_async.sync.aligned." + text + ".f32." + type + "." + type; }
};

/** The factors of one product. */
struct Factors {
    std::vector<Operand> a; // registers, or one address
    Operand b;              // address
    MatrixLayout layout_b;
};

/** A chain of families. The products begin where the first call stood, and are waited for where the last sum did: what stands in between
 * runs meanwhile. */
class Chain {
public:
    Chain(Body &body, size_t first) : body_(body), first_(first), shape_(body[first]) {
        for (size_t next = first; next != no_family; next = next_family())
            add(next);
    }

    void check() const {
        std::vector<std::string> read;
        for (const Factors &factors : products_) {
            append_registers(factors.b, read);
            for (const Operand &a : factors.a)
                append_registers(a, read);
        }
        check_unchanged(body_, read, first_, last_);
        for (size_t i = first_; i < last_; ++i) {
            if (members_.count(i)) continue;
            if (body_[i].is("bar") || (accesses_shared(body_[i]) && !body_[i].is("ld") && !body_[i].is("ldmatrix")))
                throw error_at(body_[i], "shared memory may change inside a chain of wgmma");
            for (size_t r = 0; r < shape_.elements; ++r)
                check_sums(i, r);
        }
    }

    void replace() {
        const int line = body_[first_].line;
        std::vector<Instruction> statements;
        MatrixDescriptors descriptors(body_, line, statements);
        std::vector<std::pair<Operand, Operand>> factors;
        for (const Factors &product : products_) {
            const Operand a = left_factor(product, descriptors);
            factors.emplace_back(a, descriptors.describe(product.b, product.layout_b));
        }
        const bool from_zero = starts_from_zero();
        if (!from_zero) move_start(line, statements);
        statements.push_back(Body::make(line, "wgmma.fence.sync.aligned", {}));
        for (size_t i = 0; i < factors.size(); ++i)
            statements.push_back(product(line, factors[i], i > 0 || !from_zero));
        statements.push_back(Body::make(line, "wgmma.commit_group.sync.aligned", {}));
        for (size_t i : members_)
            body_.erase(i);
        body_.put_before(first_, std::move(statements));
        body_.replace(last_, {Body::make(line, "wgmma.wait_group.sync.aligned", {Operand::immediate("0")})});
    }

private:
    void add(size_t at) {
        const Family family = find_family(body_, at, shape_.elements);
        products_.push_back(factors_of(family, at));
        std::vector<std::vector<Operand>> before;
        std::vector<std::string> after;
        for (size_t r = 0; r < shape_.elements; ++r) {
            const Sum sum = find_sum(body_, family, r);
            if (sum.dead) throw error_at(body_[sum.position], "the result of a wgmma is not added to an accumulator");
            before.push_back(sum.addends);
            after.push_back(sum.target);
            members_.insert({family.calls[r], sum.position});
            last_ = std::max(last_, sum.position);
        }
        if (start_.empty()) start_ = before;
        for (size_t r = 0; r < sums_.size(); ++r)
            if (before[r] != std::vector<Operand>{Operand::reg(sums_[r])} || body_.uses_of(sums_[r]) != 1)
                throw error_at(body_[at], "a wgmma does not continue the sums of the one before it");
        sums_ = std::move(after);
    }

    Factors factors_of(const Family &family, size_t at) const {
        const std::vector<Operand> &given = family.arguments;
        if (given.size() < shape_.arguments())
            throw error_at(body_[at],
                           body_[at].name + " takes an element number and at least " + std::to_string(shape_.arguments()) + " arguments");
        Factors factors;
        if (!shape_.a_in_registers) {
            factors.a = {loaded_from(body_, given[0], at)};
            factors.b = loaded_from(body_, given[1], at);
            factors.layout_b = {number(given[2], at, 128), 0};
        } else {
            factors.a.assign(given.begin(), given.begin() + 4);
            factors.b = loaded_from(body_, given[4], at);
            factors.layout_b = {number(given[5], at, 128), number(given[6], at, 0x3fff * 16)};
        }
        const int swizzle = factors.layout_b.swizzle;
        if (swizzle != 128 && swizzle != 64 && swizzle != 32)
            throw error_at(body_[at], "a matrix's lines have " + std::to_string(swizzle) + " bytes; they must have 128, 64 or 32");
        return factors;
    }

    int number(const Operand &operand, size_t at, int most) const {
        const bool plain = operand.kind == Operand::Kind::immediate && operand.name.size() < 7 &&
                           operand.name.find_first_not_of("0123456789") == std::string::npos;
        const int value = plain ? std::stoi(operand.name) : -1;
        if (value < 0 || value > most || value % 16 != 0)
            throw error_at(body_[at], "argument " + print(operand) + " must be a number, a multiple of 16 up to " + std::to_string(most));
        return value;
    }

    /** The next family of the same function in the block, or none. */
    size_t next_family() const {
        for (size_t i = last_ + 1; i < body_.size() && !body_.ends_block(i); ++i)
            if (body_[i].is_call() && body_[i].name == body_[first_].name) return i;
        return no_family;
    }

    /** Throws where instruction i, inside the chain but none of it, touches sum r, or what it starts from. */
    void check_sums(size_t i, size_t r) const {
        const bool busy = body_.reads(i, sums_[r]) || body_.defines(i, sums_[r]);
        const std::vector<std::string> start = registers_of(start_[r]);
        const bool changes = std::any_of(start.begin(), start.end(), [&](const std::string &reg) { return body_.defines(i, reg); });
        if (busy || changes) throw error_at(body_[i], "an accumulator of a wgmma is busy inside its chain");
    }

    Operand left_factor(const Factors &product, MatrixDescriptors &descriptors) {
        if (!shape_.a_in_registers) return descriptors.describe(product.a[0], {product.layout_b.swizzle, 0});
        std::vector<Operand> registers;
        for (const Operand &a : product.a)
            registers.push_back(body_.in_register(a));
        return Operand::vector_of(registers);
    }

    /** `adds`: to what is in the accumulators, which are otherwise not read. */
    Instruction product(int line, const std::pair<Operand, Operand> &factors, bool adds) const {
        std::vector<Operand> accumulators;
        for (const std::string &sum : sums_)
            accumulators.push_back(Operand::reg(sum));
        const Operand one = Operand::immediate("1"), zero = Operand::immediate("0");
        std::vector<Operand> operands = {Operand::vector_of(accumulators), factors.first, factors.second, adds ? one : zero, one, one};
        if (!shape_.a_in_registers) operands.push_back(zero); // A isn't transposed
        operands.push_back(products_[0].layout_b.leading == 0 ? zero : one);
        return Body::make(line, shape_.opcode(), operands);
    }

    bool starts_from_zero() const {
        const std::vector<Operand> zero = {Operand::immediate("0f00000000")};
        return std::all_of(start_.begin(), start_.end(), [&](const std::vector<Operand> &addends) { return addends == zero; });
    }

    /** The instruction adds to its own registers: they take the start's values first. A product that the compiler contracted into the first
     * sum is taken out again. */
    void move_start(int line, std::vector<Instruction> &statements) {
        const std::set<std::string> targets(sums_.begin(), sums_.end());
        for (size_t r = 0; r < shape_.elements; ++r) {
            const Operand target = Operand::reg(sums_[r]);
            if (start_[r] == std::vector<Operand>{target}) continue;
            for (const std::string &reg : registers_of(start_[r]))
                if (reg != target.name && targets.count(reg)) throw error_at(body_[first_], "accumulators of a wgmma are permuted");
            std::vector<Operand> operands = {target};
            operands.insert(operands.end(), start_[r].begin(), start_[r].end());
            statements.push_back(Body::make(line, operands.size() == 2 ? "mov.b32" : "mul.rn.f32", operands));
        }
    }

    Body &body_;
    size_t first_, last_ = 0;
    Shape shape_;
    std::vector<std::vector<Operand>> start_; // by element: what the first sum adds to, or the two factors of it
    std::vector<Factors> products_;
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
