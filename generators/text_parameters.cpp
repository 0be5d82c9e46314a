#include "generators/text_parameters.h"

#include <algorithm>

#include <Halide.h>

namespace attune::generators {

namespace {

std::string decoded(std::string text) {
    std::replace(text.begin(), text.end(), ':', '=');
    return text.empty() ? "none" : text;
}

template <typename Result> const Result &checked(const Result &result, const std::string &subject, const std::string &text) {
    if (!result.ok()) {
        const std::string sentence = "attune: " + subject + " \"" + text + "\": " + result.error;
        throw Halide::CompileError(sentence.c_str());
    }
    return result;
}

} // namespace

text::Mask mask_parameter(const std::string &text) {
    text::ParseOptions options;
    options.allow_parameters = true;
    return checked(text::parse_mask(decoded(text), options), "mask", decoded(text)).mask;
}

text::Score score_parameter(const std::string &text) { return checked(text::parse_score(decoded(text)), "score", decoded(text)).score; }

text::Position position_parameter(const std::string &text) {
    return checked(text::parse_position(decoded(text)), "position", decoded(text)).position;
}

} // namespace attune::generators
