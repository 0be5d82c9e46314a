// What the tests of attention's kernels for CUDA share.
#pragma once

#include <cstdlib>
#include <regex>
#include <string>
#include <vector>

#include "device_memory.h"
#include "half_attention.h"
#include "kernels.h"
#include "run_attention.h"
#include "typed_tensor.h"

namespace attune::test {

constexpr int64_t any_width = 80; // of kernels for any, for which there is none of its own

/** The linked kernels of 16-bit types; or of all types, those of one schedule. */
inline std::vector<const attune_kernel *> attention_kernels_on_cuda(const std::string &schedule = "") {
    std::vector<const attune_kernel *> kernels;
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel *kernel = attune_kernel_at(index);
        const std::string own = kernel->schedule;
        const bool wanted = schedule.empty() ? kernel->dtype != ATTUNE_F32 : own == schedule;
        if (std::string(kernel->operation) == "attention" && kernel->device == ATTUNE_CUDA && wanted) kernels.push_back(kernel);
    }
    return kernels;
}

/** Machine code for sm_90a runs on no other capability. */
inline bool is_for_this_device(const attune_kernel &kernel) {
    return std::string(kernel.targets).find("90a") == std::string::npos ||
           std::string(attune_cuda_device_name()).find("capability 9.0") != std::string::npos;
}

class CudaAttentionTest : public SeededTestWithParam<const attune_kernel *> {
protected:
    /** What this device can't run is refused, and not tested further. */
    void SetUp() override {
        if (is_for_this_device(kernel())) return;
        const Status status = plan_of(problem(1, 1)).status();
        EXPECT_NE(status.message.find("compute_90a; "), std::string::npos) << status.message;
        GTEST_SKIP() << kernel().name << " is for capability 9.0";
    }

    const attune_kernel &kernel() const { return own_kernel ? *own_kernel : *GetParam(); }
    attune_type type() const { return kernel().dtype; }

    AttentionProblem problem(int64_t queries, int64_t keys, int64_t batch = 1, int64_t query_heads = 2, int64_t key_heads = 1) {
        const int64_t dim = head_dim_or(kernel(), any_width);
        return rounded_inputs(type(), normal_problem({batch, query_heads, key_heads, queries, keys, dim, dim}, random));
    }

    Result<AttentionPlan> plan_of(const AttentionProblem &p) const {
        AttentionDesc desc;
        desc.dtype = type(), desc.head_dim = p.dim(), desc.schedule = kernel().schedule, desc.device = ATTUNE_CUDA;
        desc.mask = p.mask, desc.score = p.score_text();
        if (own_kernel) desc.kernel = own_kernel, desc.mask = mask_beside, desc.score = own_kernel->score[0] ? "none" : p.score_text();
        return AttentionPlan::create(desc);
    }

    HalfRun run(const AttentionProblem &p, bool with_lse = true) {
        const Result<AttentionPlan> plan = plan_of(p);
        if (!plan.ok()) return {plan.status(), {}, {}, {}};
        EXPECT_STREQ(plan.value().kernel().name, kernel().name);
        DeviceMemory memory;
        const TypedTensor q(type(), p.q), k(type(), p.k), v(type(), p.v);
        const TypedTensor out(type(), Tensor<float>({p.batch(), p.query_heads(), p.queries(), p.value_dim()}));
        const Tensor<float> lse({p.batch(), p.query_heads(), p.queries()});
        const attune_tensor out_there = memory.upload(out.view()), lse_there = memory.upload(lse.view());
        AttentionArgs args(memory.upload(q.view()), memory.upload(k.view()), memory.upload(v.view()), out_there);
        if (with_lse) args.lse = &lse_there;
        attune_tensor lengths, offsets, bias, sinks, documents, query_documents, boolean_mask;
        if (!p.key_lengths.empty()) lengths = integers(p.key_lengths, memory), args.key_lengths = &lengths;
        if (!p.offsets.empty()) offsets = integers(p.offsets, memory), args.offsets = &offsets;
        if (p.bias) bias = memory.upload(p.bias->view()), args.bias = &bias;
        if (p.documents) documents = ids(*p.documents, memory), args.documents = &documents;
        if (p.query_documents) query_documents = ids(*p.query_documents, memory), args.query_documents = &query_documents;
        if (p.boolean_mask) boolean_mask = memory.upload(p.boolean_mask->view()), args.boolean_mask = &boolean_mask;
        args.params = params.data(), args.param_count = static_cast<int32_t>(params.size());
        if (p.sinks) sinks = memory.upload(p.sinks->view()), args.sinks = &sinks;
        if (p.offset) args.has_offset = 1, args.offset = *p.offset;
        if (p.scale) args.has_scale = 1, args.scale = *p.scale;
        const bool capped = own_kernel && own_kernel->score[0]; // by the score that is compiled in
        args.softcap = capped ? 0 : p.softcap, args.temperature = p.temperature;
        const Status status = plan.value().run(args);
        if (!status.ok()) return {status, {}, {}, {}};
        memory.download(out_there, out.view()), memory.download(lse_there, lse.view());
        return {status, out.values(), to_double(lse), {}};
    }

    void expect_right(const AttentionProblem &p) {
        SCOPED_TRACE(describe(p));
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        if (type() != ATTUNE_F32) return expect_accurate(type(), p, got);
        const AttentionAnswer exact = attention_in_double(p);
        Rounding rounding(p, exact);
        expect_accurate_in_float(got.out, got.lse, p, exact, rounding);
    }

    /** Of the devices the emulator alone counts what is executed. */
    static bool counts_instructions() { return std::string(attune_cuda_device_name()).find("PTX emulator") != std::string::npos; }

    /** Warp instructions of a run, in kernels whose name has `part`. */
    double warp_instructions(const AttentionProblem &p, const std::string &part = "") {
        setenv("ATTUNE_EMULATOR_COUNT", "1", 1);
        ::testing::internal::CaptureStderr();
        const Status status = run(p).status;
        const std::string said = ::testing::internal::GetCapturedStderr();
        unsetenv("ATTUNE_EMULATOR_COUNT");
        EXPECT_TRUE(status.ok()) << status.message;
        double sum = 0;
        const std::regex counted(": \\w*" + part + "\\w*: ([0-9]+) warp instructions");
        for (auto found = std::sregex_iterator(said.begin(), said.end(), counted); found != std::sregex_iterator(); ++found)
            sum += std::stod((*found)[1]);
        return sum;
    }

    /** Of attune_add_kernel: instead of the parameter, with the problem's mask compiled in. */
    const attune_kernel *own_kernel = nullptr;
    std::string mask_beside = "none"; // of its plan
    std::vector<int32_t> params;

private:
    static attune_tensor ids(const Tensor<int64_t> &documents, DeviceMemory &memory) {
        Tensor<int32_t> narrow(documents.extent);
        for (int64_t b = 0; b < documents.extent[0]; b++)
            for (int64_t j = 0; j < documents.extent[1]; j++)
                narrow(b, j) = static_cast<int32_t>(documents(b, j));
        return memory.upload(narrow.view());
    }

    static attune_tensor integers(const std::vector<int64_t> &values, DeviceMemory &memory) {
        std::vector<int32_t> narrow(values.begin(), values.end());
        const auto count = static_cast<int64_t>(narrow.size());
        return memory.upload(attune_contiguous(narrow.data(), ATTUNE_I32, 1, &count));
    }
};

} // namespace attune::test
