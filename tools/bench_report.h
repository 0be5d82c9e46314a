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

/** Of attention. */
class BenchReport {
public:
    /** Rates are shown as shares of `peak`, as it stands when a result is added, and of `read_gbps`, both for `threads` threads. */
    BenchReport(int32_t threads, attune_type type, const bench::FmaPeak &peak, double read_gbps, bool json);
    void add(const bench::Case &c, const bench::CaseResult &result);
    void finish() const { results_.finish(); }
    /** After finish(): how a schedule's time grows with the tokens. */
    void add_exponent(const std::string &schedule, double exponent) const;

private:
    int32_t threads_;
    attune_type type_;
    const bench::FmaPeak &peak_;
    double read_gbps_;
    Results results_;
};

/** Of layers. */
class LayerReport {
public:
    /** As BenchReport. */
    LayerReport(int32_t threads, attune_type type, const bench::FmaPeak &peak, double read_gbps, bool json);
    void add(const bench::LayerCase &c, const bench::CaseResult &result);
    void finish() const { results_.finish(); }

private:
    int32_t threads_;
    attune_type type_;
    const bench::FmaPeak &peak_;
    double read_gbps_;
    Results results_;
};

/** Of kernels that memory limits: the rate of reading and writing beside that of copying. */
class RowReport {
public:
    RowReport(int32_t threads, double copy_gbps, bool json);
    void add(const bench::RowCase &c, const bench::CaseResult &result);
    void finish() const { results_.finish(); }

private:
    int32_t threads_;
    double copy_gbps_;
    Results results_;
};

} // namespace attune::tools
