// What `attune bench` prints.
#pragma once

#include <cstdint>
#include <string>

#include "bench/cases.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/rows.h"
#include "table.h"

namespace attune::tools {

/** A table at the end, or a line of JSON as each result comes. */
class BenchReport {
public:
    /** Rates are shown as shares of `peak`, as it stands when a result is added, and of `read_gbps`, both for `threads` threads. */
    BenchReport(int32_t threads, attune_type type, const bench::FmaPeak &peak, double read_gbps, bool json);
    void add(const bench::Case &c, const bench::CaseResult &result);
    void finish() const;
    /** After finish(): how a schedule's time grows with the tokens. */
    void add_exponent(const std::string &schedule, double exponent) const;

private:
    void add_row(const bench::Case &c, const bench::Measurement &m);
    void print_json(const bench::Case &c, const bench::Measurement &m) const;

    std::string share(const bench::Case &c, const bench::Measurement &m) const;

    int32_t threads_;
    attune_type type_;
    const bench::FmaPeak &peak_;
    double read_gbps_;
    bool json_;
    Table table_;
};

/** The same of kernels that memory limits: the rate of reading and writing beside that of copying. */
class RowReport {
public:
    RowReport(int32_t threads, double copy_gbps, bool json);
    void add(const bench::RowCase &c, const bench::CaseResult &result);
    void finish() const;

private:
    int32_t threads_;
    double copy_gbps_;
    bool json_;
    Table table_;
};

} // namespace attune::tools
