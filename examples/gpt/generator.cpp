#include "generator.h"

#include <algorithm>

#include "error.h"

namespace gpt {

namespace {

/** Pages for the prompt, and for each text those that it may write to. */
int64_t pages_for(int64_t longest, int64_t texts) {
    const int64_t a_text = (longest + Decoder::page_tokens - 1) / Decoder::page_tokens;
    return a_text * (texts + 1);
}

int64_t common_prefix(const std::vector<int32_t> &a, const std::vector<int32_t> &b) {
    const auto most = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
    return std::mismatch(a.begin(), a.begin() + most, b.begin()).first - a.begin();
}

} // namespace

Generator::Generator(Decoder &decoder, int64_t longest, int64_t texts)
    : decoder_(decoder), cache_(decoder.make_cache(longest, pages_for(longest, texts))) {
    const auto sequence = cache_.add();
    require(sequence.status());
    prompt_sequence_ = *sequence;
}

const float *Generator::prefill(const std::vector<int32_t> &prompt) {
    require(!prompt.empty(), "the prompt has {} tokens; it must have 1 or more", prompt.size());
    reused_ = std::min<int64_t>(common_prefix(prompt_, prompt), static_cast<int64_t>(prompt.size()) - 1);
    require(cache_.truncate(prompt_sequence_, reused_));
    prompt_.resize(static_cast<size_t>(reused_));
    const float *logits = decoder_.run(cache_, {{prompt_sequence_}, {prompt.begin() + reused_, prompt.end()}});
    prompt_ = prompt;
    return logits;
}

void Generator::generate(const std::vector<int32_t> &prompt, const GenerationOptions &options, const OnToken &on_token) {
    drop_forks(); // of a call that an Error ended
    const float *const prompt_logits = prefill(prompt);
    std::vector<Sampler> samplers;
    std::vector<float> logits;
    step_ = {}, texts_.clear();
    for (int64_t text = 0; text < options.texts; ++text) {
        const auto sequence = cache_.fork(prompt_sequence_, static_cast<int64_t>(prompt.size()));
        require(sequence.status());
        forks_.push_back(*sequence), step_.sequences.push_back(*sequence), texts_.push_back(text);
        samplers.emplace_back(options.sampling, static_cast<uint32_t>(text));
        logits.insert(logits.end(), prompt_logits, prompt_logits + decoder_.shape().vocabulary);
    }
    const float *next = logits.data();
    for (int64_t i = 0; i < options.tokens && !texts_.empty(); ++i) {
        draw(next, options, samplers, on_token);
        if (i + 1 < options.tokens && !texts_.empty()) next = decoder_.run(cache_, step_);
    }
    drop_forks();
}

void Generator::drop_forks() {
    for (int64_t sequence : forks_)
        require(cache_.remove(sequence));
    forks_.clear();
}

void Generator::draw(const float *logits, const GenerationOptions &options, std::vector<Sampler> &samplers, const OnToken &on_token) {
    Step going_on;
    std::vector<int64_t> texts;
    for (size_t i = 0; i < texts_.size(); ++i, logits += decoder_.shape().vocabulary) {
        const int32_t token = samplers[static_cast<size_t>(texts_[i])].draw(logits, decoder_.shape().vocabulary);
        if (std::count(options.end_tokens.begin(), options.end_tokens.end(), token)) continue;
        on_token(texts_[i], token);
        going_on.sequences.push_back(step_.sequences[i]), going_on.tokens.push_back(token), texts.push_back(texts_[i]);
    }
    step_ = std::move(going_on), texts_ = std::move(texts);
}

} // namespace gpt
