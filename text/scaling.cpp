#include "scaling.h"

#include <algorithm>
#include <charconv>

namespace attune::text {

namespace {

struct Argument {
    const char *name;
    double RotaryScaling::*value;
    RealLimit limit;
};

constexpr RealLimit above_0{0, false, "a number above 0"};
constexpr Argument factor{"factor", &RotaryScaling::factor, {1, true, "a number of 1 or more"}};
constexpr Argument original{"original", &RotaryScaling::original, above_0};
constexpr Argument beta_fast{"beta_fast", &RotaryScaling::beta_fast, above_0}, beta_slow{"beta_slow", &RotaryScaling::beta_slow, above_0};
constexpr Argument low{"low", &RotaryScaling::low, above_0}, high{"high", &RotaryScaling::high, above_0};

struct ScalingRule {
    const char *name;
    ScalingKind kind;
    size_t required, count; // the arguments after the required ones come all together or not at all
    Argument arguments[4];
    const char *usage;
};

constexpr ScalingRule rules[] = {
    {"linear", ScalingKind::linear, 1, 1, {factor}, "linear(factor)"},
    {"ntk", ScalingKind::ntk, 1, 1, {factor}, "ntk(factor)"},
    {"yarn",
     ScalingKind::yarn,
     2,
     4,
     {factor, original, beta_fast, beta_slow},
     "yarn(factor, original) or yarn(factor, original, beta_fast, beta_slow)"},
    {"llama3", ScalingKind::llama3, 4, 4, {factor, low, high, original}, "llama3(factor, low, high, original)"},
};

std::string known_scalings() {
    std::string list;
    for (const ScalingRule &rule : rules)
        list += (list.empty() ? "" : ", ") + std::string(rule.name);
    return list;
}

/** The number in as few digits as name it, whatever the locale. */
std::string shortest(double value) {
    char digits[32];
    const auto [end, problem] = std::to_chars(digits, digits + sizeof(digits), value);
    return problem == std::errc() ? std::string(digits, end) : "";
}

} // namespace

bool ScalingReader::read_scaling(RotaryScaling &scaling) {
    const auto *rule =
        std::find_if(std::begin(rules), std::end(rules), [&](const ScalingRule &candidate) { return token().is(candidate.name); });
    if (rule == std::end(rules)) return fail(shown() + " isn't a scaling; the scalings are " + known_scalings());
    const std::string name = rule->name, usage = name + "; write " + rule->usage;
    scaling.kind = rule->kind;
    advance();
    if (!expect('(', "after " + usage)) return false;
    int32_t columns[4] = {};
    for (size_t i = 0; i < rule->count && (i != rule->required || token().is(',')); ++i) {
        if (i > 0 && !expect(',', "in " + usage)) return false;
        const Argument &argument = rule->arguments[i];
        columns[i] = token().column;
        if (!read_real(scaling.*argument.value, name + "'s " + argument.name, argument.limit)) return false;
    }
    if (scaling.kind == ScalingKind::llama3 && scaling.low >= scaling.high)
        return fail(columns[2], "llama3's high is " + shortest(scaling.high) + "; it must be above its low, " + shortest(scaling.low));
    if (scaling.kind == ScalingKind::yarn && scaling.beta_slow >= scaling.beta_fast)
        return fail(columns[3], "yarn's beta_slow is " + shortest(scaling.beta_slow) + "; it must be below its beta_fast, " +
                                    shortest(scaling.beta_fast));
    return expect(')', "in " + usage);
}

} // namespace attune::text
