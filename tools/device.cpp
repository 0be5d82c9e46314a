#include "device.h"

#include <cstring>
#include <limits>

#include "array.h"
#include "error.h"
#include "gpu.h"

namespace attune::tools {
namespace {

int64_t count(const TensorView &tensor) {
    int64_t elements = 1;
    for (int32_t i = 0; i < tensor.rank; ++i)
        elements *= tensor.extent[i];
    return elements;
}

std::vector<int32_t> narrowed(const TensorView &host, const std::string &name) {
    const auto *from = static_cast<const int64_t *>(host.data);
    std::vector<int32_t> numbers;
    for (int64_t i = 0; i < count(host); ++i) {
        if (from[i] < std::numeric_limits<int32_t>::min() || from[i] > std::numeric_limits<int32_t>::max())
            bad_argument("{} holds {}; on --device cuda its numbers must fit in 32 bits", name, from[i]);
        numbers.push_back(static_cast<int32_t>(from[i]));
    }
    return numbers;
}

} // namespace

void add_device(CLI::App &app, std::string &target, const char *help) {
    app.add_option_function<std::string>(
        "--device",
        [&target](const std::string &text) {
            if (text != "cpu" && text != "cuda") bad_argument("--device is {}; it must be cpu or cuda", text);
            target = text;
        },
        help);
}

DeviceTensors::DeviceTensors(const std::string &device) {
    if (device == "cuda") gpu_ = std::make_unique<Gpu>();
}

DeviceTensors::~DeviceTensors() {
    for (uint64_t pointer : memory_)
        gpu_->release(pointer);
}

TensorView DeviceTensors::place(const TensorView &host, const void *from, attune_type type) {
    const int64_t bytes = count(host) * element_bytes(type);
    memory_.push_back(gpu_->allocate(bytes));
    if (from) gpu_->to_device(memory_.back(), from, bytes);
    TensorView view = host;
    std::memcpy(&view.data, &memory_.back(), sizeof(view.data)); // the number is an address
    view.type = type, view.device = ATTUNE_CUDA;
    return view;
}

TensorView DeviceTensors::input(const TensorView &host, const std::string &name) {
    if (!gpu_) return host;
    if (host.type != ATTUNE_I64) return place(host, host.data, host.type);
    return place(host, narrowed(host, name).data(), ATTUNE_I32);
}

TensorView DeviceTensors::output(const TensorView &host) {
    if (!gpu_) return host;
    outputs_.push_back({host, place(host, nullptr, host.type)});
    return outputs_.back().device;
}

TensorView DeviceTensors::in_place(const TensorView &host) {
    if (!gpu_) return host;
    outputs_.push_back({host, place(host, host.data, host.type)});
    return outputs_.back().device;
}

const TensorView *DeviceTensors::optional_input(const attune_tensor *host, const std::string &name) {
    return host ? &optional_.emplace_back(input(*host, name)) : nullptr;
}

const TensorView *DeviceTensors::optional_output(const attune_tensor *host) {
    return host ? &optional_.emplace_back(output(*host)) : nullptr;
}

void DeviceTensors::fetch() {
    if (!gpu_) return;
    gpu_->wait();
    for (const Output &output : outputs_)
        gpu_->to_host(output.host.data, reinterpret_cast<uintptr_t>(output.device.data),
                      count(output.host) * element_bytes(output.host.type));
}

} // namespace attune::tools
