#include "generators/score_from_text.h"

#include "generators/text_parameters.h"

namespace attune::generators {

void compile_score_text(const std::string &text, dsl::AttentionInputs &inputs) {
    for (const text::ScoreTerm &term : score_parameter(text).terms) {
        if (term.kind == text::ScoreKind::softcap) inputs.softcap = static_cast<float>(term.cap);
        if (term.kind == text::ScoreKind::alibi || term.kind == text::ScoreKind::t5) inputs.use_relative = 1;
    }
}

} // namespace attune::generators
