// Where a command computes: on the CPU as things are, or on a GPU, to which tensors are taken and from which outputs are brought back.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "attune/attune.hpp"

namespace attune::tools {

/** Declares --device, "cpu" or "cuda". `target` must live until parsing is done. */
void add_device(CLI::App &app, std::string &target, const char *help = "cpu, the default, or cuda: an NVIDIA GPU");

class Gpu;

/** The tensors of one call. Without a GPU, or for "cpu", each is what it is on the CPU. */
class DeviceTensors {
public:
    /** Throws CommandError, with the library's sentence, where `device` is "cuda" and none can be used. */
    explicit DeviceTensors(const std::string &device);
    ~DeviceTensors();
    DeviceTensors(const DeviceTensors &) = delete;
    DeviceTensors &operator=(const DeviceTensors &) = delete;

    attune_device device() const { return gpu_ ? ATTUNE_CUDA : ATTUNE_CPU; }

    /** `host`, a contiguous tensor, where the call reads it. Integers of 64 bits become 32 on a GPU; `name` is whose they are. */
    TensorView input(const TensorView &host, const std::string &name = "a tensor");
    /** `host` where the call writes it. */
    TensorView output(const TensorView &host);
    /** `host` where the call reads it and writes to it. */
    TensorView in_place(const TensorView &host);
    /** The same of an optional tensor, or nullptr. What is pointed to lives as long as this. */
    const TensorView *optional_input(const attune_tensor *host, const std::string &name);
    const TensorView *optional_output(const attune_tensor *host);

    /** Waits for the call, and brings the outputs back. */
    void fetch();

private:
    struct Output {
        TensorView host, device;
    };
    TensorView place(const TensorView &host, const void *from, attune_type type);

    std::unique_ptr<Gpu> gpu_;
    std::vector<uint64_t> memory_;
    std::vector<Output> outputs_;
    std::deque<TensorView> optional_;
};

} // namespace attune::tools
