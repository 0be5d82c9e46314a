// What `attune explain` is asked: a mask, the queries and keys it is for, and the data its terms read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "array.h"
#include "text/evaluate.h"

namespace attune::tools {

inline constexpr int64_t max_cells = int64_t(1) << 30;

/** The options as given; paths are empty where not given. */
struct MaskOptions {
    std::string text, documents, query_documents, block_map, mask_tensor;
    int64_t queries = 0, keys = 0;
    std::optional<int64_t> offset, length;
    std::vector<std::string> parameters; // "width=256"
};

/** One mask for one head of one batch item, ready to be asked cell by cell. */
class MaskQuestion {
public:
    /** Reads the files. Throws CommandError where the text is no mask, a term lacks its data or its alignment, data has no term, or a file
     * has another shape. */
    explicit MaskQuestion(const MaskOptions &options);
    MaskQuestion(const MaskQuestion &) = delete; // cell_ points into it
    MaskQuestion &operator=(const MaskQuestion &) = delete;

    const text::Mask &mask() const { return mask_; }
    int64_t queries() const { return cell_.queries; }
    int64_t keys() const { return cell_.keys; }

    /** Calls visit(allowed) for each query in turn, `allowed` being 1 or 0 for each key. */
    template <typename Visit> void for_each_row(const Visit &visit) {
        std::vector<uint8_t> allowed(static_cast<std::size_t>(keys()));
        for (cell_.query = 0; cell_.query < queries(); ++cell_.query) {
            text::allows(mask_.root, cell_, keys(), allowed.data());
            visit(allowed.data());
        }
    }

private:
    const text::MaskNode *find(text::MaskKind kind) const;
    bool needs(text::MaskKind kind, const std::string &option, bool given) const;
    void set_parameters(const std::vector<std::string> &given);
    void check_sizes(const MaskOptions &options) const;
    void read_documents(const MaskOptions &options);
    void read_block_map(const std::string &file);
    void read_mask_tensor(const std::string &file);

    text::Mask mask_;
    text::MaskCell cell_;
    std::vector<int64_t> parameters_, query_documents_, key_documents_;
    Array block_map_, mask_tensor_;
};

} // namespace attune::tools
