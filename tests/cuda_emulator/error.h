// What goes wrong in an emulated kernel or in a call of the emulated driver, with the code that the call returns.
#pragma once

#include <stdexcept>
#include <string>

namespace attune::emulator {

/** Results of the driver API, with the numbers of CUDA's CUresult. */
enum class Status {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialised = 3,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    no_binary_for_device = 209,
    invalid_ptx = 218,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    launch_out_of_resources = 701,
    misaligned_address = 716,
    launch_failed = 719,
    not_supported = 801,
    unknown = 999,
};

/** A sentence that says what went wrong; `status` is what the driver's call returns. */
class Error : public std::runtime_error {
public:
    Error(Status status, const std::string &what) : std::runtime_error(what), status(status) {}
    Status status;
};

/** The kernel did what it must not do. */
inline Error launch_error(const std::string &what) { return Error(Status::launch_failed, what); }

} // namespace attune::emulator
