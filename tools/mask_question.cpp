#include "mask_question.h"

#include <algorithm>
#include <map>

#include "error.h"
#include "npy.h"
#include "options.h"

namespace attune::tools {
namespace {

using text::MaskKind;
using text::MaskNode;

template <typename Visit> void for_each_term(const MaskNode &node, const Visit &visit) {
    if (node.operands.empty()) visit(node);
    for (const MaskNode &operand : node.operands)
        for_each_term(operand, visit);
}

/** One integer for each token: shape [count]. */
std::vector<int64_t> read_ids(const std::string &file, int64_t count, const char *each) {
    const Array array = read_npy(file, {ATTUNE_I32, ATTUNE_I64});
    if (array.shape != Shape{count})
        bad_argument("{} has shape {}; it must be [{}], one document for each {}", file, shape_text(array.shape), count, each);
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < count; ++i)
        ids.push_back(integer_at(array, i));
    return ids;
}

/** The least that every term that names the parameter takes. */
int64_t least_of(const MaskNode &root, int32_t parameter) {
    int64_t least = INT64_MIN;
    for_each_term(root, [&](const MaskNode &term) {
        for (const text::Number &number : term.numbers)
            if (number.parameter == parameter) least = std::max(least, text::least_number(term.kind));
    });
    return least;
}

int64_t blocks_of(int64_t extent, int64_t size) { return (extent - 1) / size + 1; }

} // namespace

MaskQuestion::MaskQuestion(const MaskOptions &options) {
    text::ParseOptions with_names;
    with_names.allow_parameters = true;
    text::ParseResult parsed = text::parse_mask(options.text, with_names);
    if (!parsed.ok()) bad_argument("mask, {}", parsed.error);
    mask_ = std::move(parsed.mask);
    set_parameters(options.parameters);
    cell_.queries = options.queries, cell_.keys = options.keys;
    cell_.offset = options.offset.value_or(0);
    cell_.length = options.length.value_or(0);
    check_sizes(options);
    if (needs(MaskKind::lengths, "--length", options.length.has_value()) && cell_.length > keys())
        bad_argument("--length is {}; it must be 0 to M = {}", cell_.length, keys());
    if (needs(MaskKind::documents, "--documents", !options.documents.empty())) read_documents(options);
    if (needs(MaskKind::blocks, "--block-map", !options.block_map.empty())) read_block_map(options.block_map);
    if (needs(MaskKind::tensor, "--mask-tensor", !options.mask_tensor.empty())) read_mask_tensor(options.mask_tensor);
}

const MaskNode *MaskQuestion::find(MaskKind kind) const {
    const MaskNode *found = nullptr;
    for_each_term(mask_.root, [&](const MaskNode &term) { found = term.kind == kind ? &term : found; });
    return found;
}

/** Whether the mask has a term of that kind; its data must be given then, and only then. */
bool MaskQuestion::needs(MaskKind kind, const std::string &option, bool given) const {
    const bool named = find(kind) != nullptr;
    if (named && !given) bad_argument("the mask's {} needs {}", text::name_of(kind), option);
    if (given && !named) bad_argument("{} is given; the mask has no {}", option, text::name_of(kind));
    return named;
}

void MaskQuestion::set_parameters(const std::vector<std::string> &given) {
    std::map<std::string, std::string> values;
    for (const std::string &pair : given) {
        const std::size_t sign = pair.find('=');
        if (sign == std::string::npos) bad_argument("--param is {}; it must be a name and a number, as in width=256", pair);
        const std::string name = pair.substr(0, sign);
        if (std::count(mask_.parameters.begin(), mask_.parameters.end(), name) == 0)
            bad_argument("--param {} is given; the mask has no {}", pair, name);
        if (!values.emplace(name, pair.substr(sign + 1)).second) bad_argument("--param {} is given twice", name);
    }
    for (std::size_t i = 0; i < mask_.parameters.size(); ++i) {
        const std::string &name = mask_.parameters[i];
        if (values.count(name) == 0) bad_argument("the mask's {} needs --param {}=NUMBER", name, name);
        parameters_.push_back(parse_integer("--param " + name, values[name], least_of(mask_.root, static_cast<int32_t>(i)), INT32_MAX));
    }
    cell_.parameters = parameters_.data();
}

void MaskQuestion::check_sizes(const MaskOptions &options) const {
    if (keys() > max_cells / queries())
        bad_argument("--queries {} times --keys {} are more than {} cells, the most that are looked at", queries(), keys(), max_cells);
    const MaskNode *unaligned = text::first_unaligned(mask_.root);
    if (unaligned && !options.offset && queries() != keys())
        bad_argument(
            "the mask's {} names no alignment, and N = {} differs from M = {}; name top_left or bottom_right in it, or give --offset",
            text::name_of(unaligned->kind), queries(), keys());
    if (!options.query_documents.empty() && options.documents.empty()) bad_argument("--query-documents is given; --documents is not");
}

void MaskQuestion::read_documents(const MaskOptions &options) {
    if (options.query_documents.empty() && queries() != keys())
        bad_argument("--documents gives those of the keys, and N = {} differs from M = {}; give --query-documents too", queries(), keys());
    key_documents_ = read_ids(options.documents, keys(), "key");
    query_documents_ = options.query_documents.empty() ? key_documents_ : read_ids(options.query_documents, queries(), "query");
    cell_.query_documents = query_documents_.data(), cell_.key_documents = key_documents_.data();
}

void MaskQuestion::read_block_map(const std::string &file) {
    block_map_ = read_npy(file, {ATTUNE_BOOL});
    Shape sizes; // of the terms before
    for_each_term(mask_.root, [&](const MaskNode &term) {
        if (term.kind != MaskKind::blocks) return;
        const auto size = [&](const text::Number &n) {
            return n.is_parameter() ? parameters_[static_cast<std::size_t>(n.parameter)] : n.value;
        };
        const Shape named = {size(term.numbers[0]), size(term.numbers[1])};
        if (!sizes.empty() && sizes != named)
            bad_argument("the mask names blocks({}, {}) and blocks({}, {}); there is one block map, so they must agree", sizes[0], sizes[1],
                         named[0], named[1]);
        sizes = named;
        const Shape shape = {blocks_of(queries(), named[0]), blocks_of(keys(), named[1])};
        if (block_map_.shape != shape)
            bad_argument("{} has shape {}; it must be {}, the blocks of N = {} and M = {}", file, shape_text(block_map_.shape),
                         shape_text(shape), queries(), keys());
    });
    cell_.block = [this](int64_t row, int64_t column) { return block_map_.as<uint8_t>()[row * block_map_.shape[1] + column] != 0; };
}

void MaskQuestion::read_mask_tensor(const std::string &file) {
    mask_tensor_ = read_npy(file, {ATTUNE_BOOL});
    const Shape shape = {queries(), keys()};
    if (mask_tensor_.shape != shape)
        bad_argument("{} has shape {}; it must be {}, one value for each query and key", file, shape_text(mask_tensor_.shape),
                     shape_text(shape));
    cell_.tensor = [this](int64_t query, int64_t key) { return mask_tensor_.as<uint8_t>()[query * keys() + key] != 0; };
}

} // namespace attune::tools
