// Tokenizer::load: GPT-2's two files, and the parts of tokenizer.json that GPT-2, Llama 2 and Llama 3 use.
#include <algorithm>
#include <sstream>

#include "error.h"
#include "files.h"
#include "tokenizer_vocabulary.h"

namespace gpt {

namespace {

using nlohmann::json;

const std::string llama3_pattern = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
                                   "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

std::string type_of_part(const json &part) { return part.is_object() ? value_or<std::string>(part, "type", "") : std::string(); }

/** A part of the pipeline, or each part of a Sequence; none for null. */
std::vector<json> parts_of(const json &pipeline, const char *name, const char *list) {
    const auto found = pipeline.find(name);
    if (found == pipeline.end() || found->is_null()) return {};
    if (type_of_part(*found) != "Sequence") return {*found};
    const auto parts = found->find(list);
    require(parts != found->end() && parts->is_array(), "tokenizer.json: the Sequence of its {} has no array \"{}\"", name, list);
    return *parts;
}

/** Whether the part replaces spaces by U+2581. */
bool replaces_spaces(const json &part) {
    return type_of_part(part) == "Replace" && part.value("/pattern/String"_json_pointer, "") == " " &&
           part.value("content", "") == space_sign;
}

void read_normalizer(const json &file, TokenizerRules &rules, bool &spaces_are_signs) {
    for (const json &part : parts_of(file, "normalizer", "normalizers")) {
        const bool prepends = type_of_part(part) == "Prepend" && part.value("prepend", "") == space_sign;
        require(!rules.byte_level && (prepends || replaces_spaces(part)), "tokenizer.json has the normalizer {}, which isn't known",
                part.dump());
        if (prepends) rules.space_before = SpaceBefore::always, rules.space_unless_there = false;
        if (replaces_spaces(part)) spaces_are_signs = true;
    }
}

void read_metaspace(const json &part, TokenizerRules &rules) {
    const auto scheme = value_or<std::string>(part, "prepend_scheme", "always");
    require(!value_or(part, "split", true) && value_or<std::string>(part, "replacement", "") == space_sign,
            "tokenizer.json has the pre_tokenizer {}, which isn't known", part.dump());
    rules.space_before = scheme == "never" ? SpaceBefore::nothing : scheme == "first" ? SpaceBefore::first : SpaceBefore::always;
}

void read_pre_tokenizer(const json &file, TokenizerRules &rules, bool &spaces_are_signs) {
    rules.pattern = SplitPattern::none;
    for (const json &part : parts_of(file, "pre_tokenizer", "pretokenizers")) {
        const std::string type = type_of_part(part);
        if (type == "ByteLevel") {
            if (value_or(part, "use_regex", true)) rules.pattern = SplitPattern::gpt2;
            if (value_or(part, "add_prefix_space", true)) rules.space_before = SpaceBefore::always;
        } else if (type == "Split" && part.value("/pattern/Regex"_json_pointer, "") == llama3_pattern &&
                   value_or<std::string>(part, "behavior", "") == "Isolated" && !value_or(part, "invert", false)) {
            rules.pattern = SplitPattern::llama3;
        } else {
            require(type == "Metaspace", "tokenizer.json has the pre_tokenizer {}, which isn't known", part.dump());
            read_metaspace(part, rules);
            spaces_are_signs = true;
        }
    }
}

void read_added_tokens(const json &file, TokenizerRules &rules) {
    for (const json &token : value_or<std::vector<json>>(file, "added_tokens", {})) {
        const auto content = value_or<std::string>(token, "content", "");
        const auto number = value_or<int32_t>(token, "id", -1);
        require(!content.empty() && number >= 0 && number < most_tokens, "tokenizer.json has the added token {}, which isn't known",
                token.dump());
        for (const char *unknown : {"single_word", "lstrip", "rstrip"})
            require(!value_or(token, unknown, false), "tokenizer.json has the added token {} with \"{}\", which isn't known", content,
                    unknown);
        rules.special[content] = number;
        if (value_or(token, "special", true)) rules.hidden.insert(number);
    }
}

/** The special tokens that stand before every text. */
void read_post_processor(const json &file, TokenizerRules &rules) {
    for (const json &part : parts_of(file, "post_processor", "processors")) {
        if (type_of_part(part) != "TemplateProcessing") continue; // others change no token
        bool is_text_before = false;
        for (const json &piece : value_or<std::vector<json>>(part, "single", {})) {
            if (piece.contains("Sequence")) {
                is_text_before = true;
                continue;
            }
            const auto name = piece.value("/SpecialToken/id"_json_pointer, "");
            require(!is_text_before, "tokenizer.json puts \"{}\" after texts, which isn't known", name);
            const auto token = rules.special.find(name);
            require(token != rules.special.end(), "tokenizer.json puts \"{}\" before texts, which is no added token", name);
            rules.begin.push_back(token->second);
        }
    }
}

bool has_byte_level(const json &file) {
    const std::vector<json> parts = parts_of(file, "pre_tokenizer", "pretokenizers");
    return std::any_of(parts.begin(), parts.end(), [](const json &part) { return type_of_part(part) == "ByteLevel"; });
}

void read_model(const json &model, TokenizerRules &rules) {
    const auto type = value_or<std::string>(model, "type", "BPE"); // which the file published with GPT-2 doesn't name
    require(type == "BPE", "tokenizer.json has a model of type \"{}\"; it must be BPE", type);
    for (const char *absent : {"continuing_subword_prefix", "end_of_word_suffix"})
        require(value_or<std::string>(model, absent, "").empty(), "tokenizer.json has a {}, which isn't known", absent);
    require(model.contains("vocab") && model.contains("merges"), "tokenizer.json has no vocab, or no merges");
    add_vocabulary(model["vocab"], rules);
    add_merges(model["merges"], rules);
    rules.whole_words = value_or(model, "ignore_merges", false);
    const auto unknown = value_or<std::string>(model, "unk_token", "");
    if (!unknown.empty()) rules.unknown = token_of(unknown, rules);
    require(value_or(model, "dropout", 0.0) == 0, "tokenizer.json has a model with dropout, which isn't known");
    if (rules.byte_level) return;
    if (!value_or(model, "byte_fallback", false)) rules.bytes.fill(-1);
    require(unknown.empty() || value_or(model, "fuse_unk", false),
            "tokenizer.json has a model whose unknown characters are a token each (\"fuse_unk\" is false), which isn't known");
}

Tokenizer load_json(const std::filesystem::path &path) {
    const json file = read_json(path);
    require(file.contains("model"), "{} has no \"model\"", path.string());
    TokenizerRules rules;
    rules.byte_level = has_byte_level(file);
    rules.strip_space = !rules.byte_level;
    read_model(file["model"], rules);
    bool spaces_are_signs = false;
    read_normalizer(file, rules, spaces_are_signs);
    read_pre_tokenizer(file, rules, spaces_are_signs);
    read_added_tokens(file, rules);
    read_post_processor(file, rules);
    require(rules.byte_level || spaces_are_signs, "tokenizer.json has neither a normalizer nor a pre_tokenizer that replaces spaces");
    return Tokenizer(std::move(rules));
}

Tokenizer load_gpt2(const std::filesystem::path &folder) {
    TokenizerRules rules;
    add_vocabulary(read_json(folder / "vocab.json"), rules);
    std::istringstream merges(read_text(folder / "merges.txt"));
    for (std::string line; std::getline(merges, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (!line.empty() && line.rfind("#version", 0) != 0) add_merge(line, rules);
    }
    const auto end = rules.vocabulary.find("<|endoftext|>");
    if (end != rules.vocabulary.end()) rules.special.insert(*end), rules.hidden.insert(end->second);
    return Tokenizer(std::move(rules));
}

} // namespace

Tokenizer Tokenizer::load(const std::filesystem::path &folder) {
    const std::filesystem::path path = folder / "tokenizer.json";
    try {
        return is_there(path) ? load_json(path) : load_gpt2(folder);
    } catch (const json::exception &error) { // a part of another type than in any such file
        fail("the tokenizer in {} can't be read: {}", folder.string(), error.what());
    }
}

} // namespace gpt
