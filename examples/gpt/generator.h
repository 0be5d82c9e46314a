// Text from a network: a prompt computed once, then tokens drawn and fed back, several texts at a time.
#pragma once

#include <functional>
#include <vector>

#include "decoder.h"
#include "sampler.h"

namespace gpt {

struct GenerationOptions {
    int64_t tokens = 50; // new ones, of each text
    int64_t texts = 1;
    SamplingOptions sampling;
    std::vector<int32_t> end_tokens; // each ends its text, and isn't part of it
};

/** Called with each token as it is drawn, and the number of its text. */
using OnToken = std::function<void(int64_t text, int32_t token)>;

class Generator {
public:
    /** `longest` tokens in a text with its prompt; at most `texts` at a time. The decoder must outlive this. */
    Generator(Decoder &decoder, int64_t longest, int64_t texts);

    /** Draws tokens that follow the prompt's. Texts share the cache of their prompt; and of the prompt only what differs from the one
     * before is computed: begun with the same words, prompts cost their ends alone. The last logits decide the first token, so that one
     * token of the prompt is computed always. */
    void generate(const std::vector<int32_t> &prompt, const GenerationOptions &options, const OnToken &on_token);

    /** Tokens of the last prompt that were in the cache already. */
    int64_t reused() const { return reused_; }

private:
    /** Puts the prompt into the cache, and returns the logits of its last token. */
    const float *prefill(const std::vector<int32_t> &prompt);
    void drop_forks();
    /** A token of each text of the step whose logits these are; texts that end leave the step. */
    void draw(const float *logits, const GenerationOptions &options, std::vector<Sampler> &samplers, const OnToken &on_token);

    Decoder &decoder_;
    attune::KvCache cache_;
    std::vector<int32_t> prompt_; // what the cache has of the last prompt
    int64_t prompt_sequence_ = 0, reused_ = 0;
    std::vector<int64_t> forks_; // of the prompt's sequence, one a text
    Step step_;                  // the texts that go on, and the tokens just drawn of them
    std::vector<int64_t> texts_; // their numbers
};

} // namespace gpt
