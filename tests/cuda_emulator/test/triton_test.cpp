// Kernels that Triton compiled (triton/make.py), against plain loops: PTX by another hand than ours.
#include "kernel.h"

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace attune::test {

/** A line of triton/kernels.txt. */
struct TritonKernel {
    std::string file, entry;
    unsigned threads = 0, shared = 0;
};

static std::string read_file(const std::string &name) {
    std::ifstream file(std::string(ATTUNE_TRITON_FOLDER) + "/" + name);
    EXPECT_TRUE(file.good()) << name;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

static TritonKernel find_kernel(const std::string &file) {
    std::istringstream list(read_file("kernels.txt"));
    for (std::string line; std::getline(list, line);) {
        TritonKernel kernel;
        std::istringstream(line) >> kernel.file >> kernel.entry >> kernel.threads >> kernel.shared;
        if (kernel.file == file) return kernel;
    }
    ADD_FAILURE() << file << " is not listed";
    return {};
}

class Triton : public EmulatorTest, public testing::WithParamInterface<const char *> {
protected:
    std::mt19937 random{1};

    void TearDown() override {
        EmulatorTest::TearDown();
        unsetenv("ATTUNE_EMULATOR_RACES");
    }

    std::vector<float> normal(size_t count) {
        std::normal_distribution<float> distribution;
        std::vector<float> values(count);
        for (float &value : values)
            value = distribution(random);
        return values;
    }

    /** Arguments are pointers to their values; two scratch pointers follow, which these kernels don't use. Races are looked for. */
    static void start(const std::string &name, const char *architecture, unsigned x, unsigned y, std::vector<void *> arguments) {
        const TritonKernel kernel = find_kernel(name + "_" + architecture + ".ptx");
        const LoadedModule module(read_file(kernel.file));
        void *function = module.function(kernel.entry.c_str());
        if (kernel.shared > 48 << 10) {
            EXPECT_EQ(cuFuncSetAttribute(function, 8, static_cast<int>(kernel.shared)), 0);
        }
        unsigned long long scratch = 0;
        arguments.insert(arguments.end(), 2, &scratch);
        setenv("ATTUNE_EMULATOR_RACES", "1", 1);
        EXPECT_EQ(cuLaunchKernel(function, x, y, 1, kernel.threads, 1, 1, kernel.shared, nullptr, arguments.data(), nullptr), 0);
    }
};

/** Rounds to bf16 or f16, giving the bits; values take the rounded number. */
static std::vector<uint16_t> narrow(std::vector<float> &values, bool brain) {
    std::vector<uint16_t> bits;
    for (float &value : values) {
        if (brain) {
            bits.push_back(static_cast<uint16_t>(brain_bits(value)));
            value = brain_float(bits.back());
            continue;
        }
        value = std::clamp(std::nearbyint(value * 64), -127.f, 127.f) / 64; // exact in f16
        const int exponent = value == 0 ? 0 : std::ilogb(value);
        const auto mantissa = static_cast<uint16_t>(std::ldexp(std::fabs(value), 10 - exponent)) & 1023;
        const uint16_t magnitude = value == 0 ? 0 : static_cast<uint16_t>((exponent + 15) << 10 | mantissa);
        bits.push_back(static_cast<uint16_t>(magnitude | (std::signbit(value) ? 0x8000 : 0)));
    }
    return bits;
}

TEST_P(Triton, AddsVectors) {
    int n = 1300;
    const auto x = normal(1300), y = normal(1300);
    DeviceBuffer dx(x.data(), 5200), dy(y.data(), 5200), out(5200);
    start("vector_add", GetParam(), 3, 1, {&dx.address, &dy.address, &out.address, &n});
    const auto got = out.read<float>(1300);
    for (size_t i = 0; i < 1300; ++i)
        ASSERT_EQ(got[i], x[i] + y[i]) << i;
}

TEST_P(Triton, TakesSoftmaxOfRows) {
    int columns = 777;
    const size_t rows = 3;
    const auto x = normal(rows * 777);
    DeviceBuffer dx(x.data(), x.size() * 4), out(x.size() * 4);
    start("softmax", GetParam(), rows, 1, {&dx.address, &out.address, &columns});
    const auto got = out.read<float>(x.size());
    for (size_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (size_t i = 0; i < 777; ++i)
            sum += std::exp(static_cast<double>(x[row * 777 + i]));
        for (size_t i = 0; i < 777; ++i)
            ASSERT_NEAR(got[row * 777 + i], std::exp(static_cast<double>(x[row * 777 + i])) / sum, 1e-7) << row << " " << i;
    }
}

TEST_P(Triton, MultipliesMatrices) {
    for (const bool brain : {true, false}) {
        const size_t m = 128, n = brain ? 256 : 128, depth = 320;
        auto a = normal(m * depth), b = normal(depth * n);
        const auto a_bits = narrow(a, brain), b_bits = narrow(b, brain);
        DeviceBuffer da(a_bits.data(), a_bits.size() * 2), db(b_bits.data(), b_bits.size() * 2), out(m * n * 4);
        int columns = static_cast<int>(n), deep = static_cast<int>(depth);
        start(brain ? "matmul_bf16" : "matmul_f16", GetParam(), 2, 2, {&da.address, &db.address, &out.address, &columns, &deep});
        const auto got = out.read<float>(m * n);
        for (size_t i = 0; i < m; ++i) {
            for (size_t j = 0; j < n; ++j) {
                double sum = 0;
                for (size_t k = 0; k < depth; ++k)
                    sum += static_cast<double>(a[i * depth + k]) * b[k * n + j];
                ASSERT_NEAR(got[i * n + j], sum, 1e-4) << (brain ? "bf16 " : "f16 ") << i << " " << j;
            }
        }
    }
}

TEST_P(Triton, Attends) {
    constexpr size_t depth = 64, queries = 128, keys = 200;
    auto q = normal(queries * depth), k = normal(keys * depth), v = normal(keys * depth);
    const auto q_bits = narrow(q, true), k_bits = narrow(k, true), v_bits = narrow(v, true);
    DeviceBuffer dq(q_bits.data(), q_bits.size() * 2), dk(k_bits.data(), k_bits.size() * 2), dv(v_bits.data(), v_bits.size() * 2),
        out(queries * depth * 2);
    float scale = 0.125f;
    int key_count = keys;
    start("attention", GetParam(), 2, 1, {&dq.address, &dk.address, &dv.address, &out.address, &scale, &key_count});
    const auto got = out.read<uint16_t>(queries * depth);
    for (size_t i = 0; i < queries; ++i) {
        double total = 0, sums[depth] = {};
        for (size_t j = 0; j < keys; ++j) {
            double score = 0;
            for (size_t c = 0; c < depth; ++c)
                score += static_cast<double>(q[i * depth + c]) * k[j * depth + c];
            const double weight = std::exp(score * 0.125);
            total += weight;
            for (size_t c = 0; c < depth; ++c)
                sums[c] += weight * v[j * depth + c];
        }
        for (size_t c = 0; c < depth; ++c)
            ASSERT_NEAR(brain_float(got[i * depth + c]), sums[c] / total, 0.01) << i << " " << c;
    }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Triton, testing::Values("sm80", "sm90"));

} // namespace attune::test
