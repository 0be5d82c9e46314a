#include "families.h"

#include "error.h"

namespace gpt {

Network load_network(const Checkpoint &checkpoint, attune_type dtype) {
    const auto type = value_or<std::string>(checkpoint.config(), "model_type", "");
    if (type == "gpt2") return load_gpt2(checkpoint, dtype);
    if (type == "llama" || type == "mistral") return load_llama(checkpoint, dtype);
    fail("config.json has the model_type \"{}\"; it must be gpt2, llama or mistral", type);
}

std::vector<int32_t> end_tokens(const Checkpoint &checkpoint) {
    const auto found = checkpoint.config().find("eos_token_id");
    if (found == checkpoint.config().end() || found->is_null()) return {};
    if (!found->is_array()) return {value_or<int32_t>(checkpoint.config(), "eos_token_id", -1)};
    std::vector<int32_t> tokens;
    for (const nlohmann::json &token : *found) {
        require(token.is_number_integer() && token >= 0 && token <= INT32_MAX,
                "config.json: \"eos_token_id\" is {}; it must be one token or several", found->dump());
        tokens.push_back(token.get<int32_t>());
    }
    return tokens;
}

} // namespace gpt
