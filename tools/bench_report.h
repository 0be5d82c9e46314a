// What `attune bench` prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/cases.h"
#include "bench/layers.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/rows.h"
#include "table.h"

namespace attune::tools {

/** A table at the end, or a line of JSON as each result comes. */
class Results {
public:
    Results(bool json, std::vector<std::string> header, std::vector<Align> align);
    bool json() const { return json_; }
    /** Above the table. */
    void title(const std::string &text) const;
    void add(const nlohmann::ordered_json &line, std::vector<std::string> row);
    void finish() const;

private:
    bool json_;
    Table table_;
};

/** What rates are shown as shares of: the peak and the read bandwidth as they stand when a result is added, for `threads` threads. */
struct Limits {
    int32_t threads;
    attune_type type;
    const bench::FmaPeak &peak;
    const bench::Bandwidth &reading;

    /** Above a table. */
    std::string title() const;
    /** Against the limit that counts: memory's or arithmetic's. */
    std::string share(bool memory_bound, double gflops, double gbps) const;
    /** The line of JSON that all results have in common; `rate` names what is read. */
    nlohmann::ordered_json line(const std::string &name, const bench::Measurement &m, double gflops, const char *rate, double gbps) const;
};

/** Of attention. */
class BenchReport {
public:
    /** `beside_unmasked`: with rates as shares of those without the mask. */
    BenchReport(const Limits &limits, bool json, bool beside_unmasked);
    /** What came of a case and, beside_unmasked, of its unmasked_case(). */
    void add(const bench::Case &c, const std::vector<bench::CaseResult> &results);
    void finish() const { results_.finish(); }
    /** After finish(): how a schedule's time grows with the tokens. */
    void add_exponent(const std::string &schedule, double exponent) const;

private:
    Limits limits_;
    bool beside_unmasked_;
    Results results_;
};

/** Of layers. */
class LayerReport {
public:
    LayerReport(const Limits &limits, bool json);
    void add(const bench::LayerCase &c, const bench::CaseResult &result);
    void finish() const { results_.finish(); }

private:
    Limits limits_;
    Results results_;
};

/** Of kernels that memory limits: the rate of reading and writing beside that of copying. */
class RowReport {
public:
    RowReport(int32_t threads, const bench::Bandwidth &copying, bool json);
    void add(const bench::RowCase &c, const bench::CaseResult &result);
    void finish() const { results_.finish(); }

private:
    int32_t threads_;
    const bench::Bandwidth &copying_;
    Results results_;
};

} // namespace attune::tools
