#include <algorithm>

#include "family.h"
#include "printer.h"
#include "warp_families.h"

namespace attune::ptx {

namespace {

constexpr size_t elements = 4, inputs = 6; // a: 4 registers, b: 2

/** Four products with the sums they go to. The instruction stands where the last of them stood, so that it reads everything later and
 * writes everything later than the calls and sums did: what the checks are about. */
class Mma {
public:
    Mma(Body &body, size_t first) : body_(body), family_(find_family(body, first, elements)) {
        if (family_.arguments.size() < inputs)
            throw error_at(body[first], body[first].name + " takes an element number and at least 6 registers");
        family_.arguments.resize(inputs);
        for (size_t r = 0; r < elements; ++r) {
            sums_.push_back(find_sum(body, family_, r));
            last_ = std::max({last_, sums_[r].position, family_.calls[r]});
            members_.insert({family_.calls[r], sums_[r].position});
        }
    }

    void check() const {
        check_unchanged(body_, registers_of(family_.arguments), family_.first, last_);
        for (const Sum &sum : sums_) {
            check_unchanged(body_, registers_of(sum.addends), sum.position, last_, members_);
            for (size_t i = sum.position + 1; i <= last_; ++i)
                if (body_.defines(i, sum.target) || body_.reads(i, sum.target))
                    throw error_at(body_[i], "sum " + sum.target + " is used inside its family");
        }
    }

    void replace() {
        const int line = body_[family_.first].line;
        std::vector<Instruction> statements;
        std::vector<Operand> targets, addends;
        for (const Sum &sum : sums_) {
            targets.push_back(Operand::reg(sum.target));
            addends.push_back(addend(sum, line, statements));
        }
        const std::vector<Operand> in = in_registers();
        const std::vector<Operand> a(in.begin(), in.begin() + 4), b(in.begin() + 4, in.end());
        statements.push_back(Body::make(
            line, opcode(), {Operand::vector_of(targets), Operand::vector_of(a), Operand::vector_of(b), Operand::vector_of(addends)}));
        for (size_t i : members_)
            body_.erase(i);
        body_.replace(last_, std::move(statements));
    }

private:
    std::string opcode() const {
        const std::string &name = body_[family_.first].name;
        const std::string type = name.find("_bf16") != std::string::npos ? "bf16" : "f16";
        return "mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type + ".f32";
    }

    /** What is added to a product. A product that the compiler contracted into the sum is taken out again. */
    Operand addend(const Sum &sum, int line, std::vector<Instruction> &statements) {
        if (sum.addends.size() == 1) return body_.in_register(sum.addends[0]);
        const Operand product = Operand::reg(body_.fresh("b32"));
        statements.push_back(Body::make(line, "mul.rn.f32", {product, sum.addends[0], sum.addends[1]}));
        return product;
    }

    std::vector<Operand> in_registers() {
        std::vector<Operand> result;
        for (const Operand &argument : family_.arguments)
            result.push_back(body_.in_register(argument));
        return result;
    }

    Body &body_;
    Family family_;
    std::vector<Sum> sums_;
    std::set<size_t> members_; // calls and sums
    size_t last_ = 0;
};

} // namespace

void replace_mma(Body &body, size_t first) {
    Mma mma(body, first);
    mma.check();
    mma.replace();
}

} // namespace attune::ptx
