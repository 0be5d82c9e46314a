// Machine code ahead of time: ptxas for every architecture.
#pragma once

#include <string>
#include <vector>

#include "error.h"

namespace attune::ptx {

/** What ptxas says of one kernel. */
struct KernelFigures {
    std::string kernel, arch;
    int registers = 0;                     // of a thread
    int stack_bytes = 0;                   // local memory of a thread
    int spill_stores = 0, spill_loads = 0; // bytes
    int shared_bytes = 0;                  // static: without what the host asks for at launch
    int constant_bytes = 0;                // parameters included, where they are in constant memory
};

/** PTX, and what to make of it. */
struct Source {
    std::string ptx;
    std::vector<std::string> architectures; // "sm_80": a cubin each
    bool keep_ptx = false;                  // also put the text into the fatbin, for later architectures
};

struct AssembleOptions {
    std::string ptxas;  // the program; empty: there is none
    std::string folder; // for temporary files, which are removed
};

struct DeviceCode {
    std::string fatbin;
    std::vector<KernelFigures> figures; // by architecture, then in the order of the text; none without ptxas
};

/** One fatbin of all sources. Without ptxas, PTX alone: that of every source, kept or not. Throws Error, with the lines of PTX that
 * ptxas complains about. */
DeviceCode assemble(const std::vector<Source> &sources, const AssembleOptions &options);

/** The cubin of one architecture; appends the figures of its kernels. Throws Error where wgmma_remark finds something, too. */
std::string make_cubin(const std::string &ptx, const std::string &arch, const AssembleOptions &options,
                       std::vector<KernelFigures> &figures);

/** Reads what `ptxas -v` printed. */
std::vector<KernelFigures> parse_figures(const std::string &log, const std::string &arch);

/** What ptxas, in what it printed, says it did to make wgmma right, or nothing: it waits between products, or puts a fence or a wait of its
 * own. It only remarks on it, but then products are slow, or the pass has missed one. */
std::string wgmma_remark(const std::string &log);

/** The errors in what ptxas printed, each with the PTX line that it names. */
std::string explain_errors(const std::string &log, const std::string &ptx);

} // namespace attune::ptx
