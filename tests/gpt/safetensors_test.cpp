// The reader of .safetensors: files that are right, each way to be wrong, and damaged ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include <sys/stat.h>

#include "gpt/checkpoint.h"
#include "gpt/files.h"
#include "gpt/safetensors.h"
#include "thrown.h"

namespace gpt {
namespace {

std::string file_of(const std::string &header, const std::string &data) {
    std::string bytes;
    for (int i = 0; i < 8; ++i)
        bytes += static_cast<char>(uint64_t(header.size()) >> (8 * i) & 0xff);
    return bytes + header + data;
}

std::string entry(const char *name, const char *dtype, const char *shape, int begin, int end) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})", name, dtype, shape, begin, end);
}

const std::string float_bytes = {0, 0, char(0x80), 0x3f, 0, 0, 0x20, char(0xc1)}; // 1, -10

TEST(SafeTensors, TensorsAreWhereTheHeaderSays) {
    const std::string header =
        "{" + entry("a", "F32", "[2]", 2, 10) + "," + entry("b", "BF16", "[1,1]", 0, 2) + R"(,"__metadata__":{"format":"pt"}})";
    const std::string bytes = file_of(header, std::string("\xc0\x3f", 2) + float_bytes);
    const StoredTensors tensors = parse_safetensors(bytes, "F");
    ASSERT_EQ(tensors.size(), 2u);
    EXPECT_EQ(to_f32(tensors.at("a"), "a"), (std::vector<float>{1, -10})); // at an address that isn't a multiple of 4
    EXPECT_EQ(tensors.at("b").shape, (std::vector<int64_t>{1, 1}));
    EXPECT_EQ(to_f32(tensors.at("b"), "b"), std::vector<float>{1.5f});
}

TEST(SafeTensors, ScalarsAndEmptyTensors) {
    const std::string header = "{" + entry("scalar", "F32", "[]", 0, 4) + "," + entry("empty", "F32", "[0,9]", 4, 4) + "}";
    const std::string bytes = file_of(header, float_bytes.substr(0, 4));
    const StoredTensors tensors = parse_safetensors(bytes, "F");
    EXPECT_EQ(to_f32(tensors.at("scalar"), "scalar"), std::vector<float>{1});
    EXPECT_TRUE(to_f32(tensors.at("empty"), "empty").empty());
}

TEST(SafeTensors, EveryF16IsExact) {
    std::string data(2 * 65536, 0);
    for (int i = 0; i < 65536; ++i)
        data[2 * i] = static_cast<char>(i & 0xff), data[2 * i + 1] = static_cast<char>(i >> 8);
    const std::vector<float> values = to_f32({"F16", {65536}, data}, "halves");
    for (int i = 0; i < 65536; ++i) {
        const int exponent = i >> 10 & 31, fraction = i & 1023;
        double right = exponent == 31  ? (fraction ? std::nan("") : HUGE_VAL)
                       : exponent == 0 ? std::ldexp(fraction, -24)
                                       : std::ldexp(1024 + fraction, exponent - 25);
        if (i >> 15) right = -right;
        ASSERT_TRUE(std::isnan(right) ? std::isnan(values[i]) : double(values[i]) == right && std::signbit(values[i]) == (i >> 15)) << i;
    }
}

struct BadFile {
    const char *name;
    std::string bytes, sentence;
};
void PrintTo(const BadFile &file, std::ostream *stream) { *stream << file.name; }
class BadSafeTensors : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadSafeTensors, IsRefusedBySentence) {
    const std::string sentence = thrown([] { parse_safetensors(GetParam().bytes, "F"); });
    EXPECT_EQ(sentence.substr(0, GetParam().sentence.size()), GetParam().sentence);
}

const BadFile bad_files[] = {
    {"Empty", "", "F has 0 bytes; a .safetensors file has at least 8"},
    {"HeaderPastTheEnd", file_of("{}", "").substr(0, 9), "F: the header's length is 2; it must be at most 1"},
    {"HugeHeader", std::string(8, '\xff') + "{}", "F: the header's length is 18446744073709551615; it must be at most 2"},
    {"NoJson", file_of("{\"a\":", ""), "F: the header isn't a JSON object"},
    {"NoObject", file_of("[]", ""), "F: the header isn't a JSON object"},
    {"NotUtf8", file_of("{\"\xff\":1}", ""), "F: the header isn't a JSON object"},
    {"SpaceBeforeTheObject", file_of(" {}", ""), "F: the header isn't a JSON object"},
    {"NoHeader", file_of("", ""), "F: the header isn't a JSON object"},
    {"Twice", file_of("{" + entry("a", "U8", "[4]", 0, 4) + "," + entry("a", "U8", "[2,2]", 0, 4) + "}", "1234"),
     "F: the header describes tensor a twice"},
    {"EntryIsNoObject", file_of(R"({"a":1})", ""), "F: tensor a must be described by a JSON object"},
    {"UnknownType", file_of("{" + entry("a", "F31", "[1]", 0, 4) + "}", "1234"), "F: tensor a has the dtype \"F31\", which isn't known"},
    {"NoShape", file_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), "F: tensor a has no array \"shape\""},
    {"NegativeExtent", file_of("{" + entry("a", "F32", "[-1]", 0, 4) + "}", "1234"),
     "F: tensor a: \"shape\" holds -1; its numbers must be"},
    {"FractionalExtent", file_of("{" + entry("a", "F32", "[1.5]", 0, 4) + "}", "1234"), "F: tensor a: \"shape\" holds 1.5"},
    {"ExtentPast64Bits", file_of("{" + entry("a", "U8", "[18446744073709551616]", 0, 0) + "}", ""), "F: tensor a: \"shape\" holds 1.8"},
    {"ProductOverflows", file_of("{" + entry("a", "U8", "[4294967296,4294967296,1]", 0, 0) + "}", ""), "F: tensor a takes 0 bytes"},
    {"BytesOverflow", file_of("{" + entry("a", "F64", "[2305843009213693952]", 0, 0) + "}", ""), "F: tensor a takes 0 bytes"},
    {"TooFewBytes", file_of("{" + entry("a", "F32", "[2]", 0, 4) + "}", "1234"), "F: tensor a takes 4 bytes, which isn't what its shape"},
    {"PastTheEnd", file_of("{" + entry("a", "F32", "[2]", 0, 8) + "}", "1234"), "F: tensor a: \"data_offsets\" must be"},
    {"EndBeforeBegin", file_of("{" + entry("a", "F32", "[0]", 4, 0) + "}", "1234"), "F: tensor a: \"data_offsets\" must be"},
    {"OneOffset", file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0]}})", ""), "F: tensor a: \"data_offsets\" must be"},
    {"Overlap", file_of("{" + entry("a", "U8", "[3]", 0, 3) + "," + entry("b", "U8", "[2]", 2, 4) + "}", "1234"),
     "F: tensors overlap or leave a hole at byte 3"},
    {"Hole", file_of("{" + entry("a", "U8", "[1]", 0, 1) + "," + entry("b", "U8", "[2]", 2, 4) + "}", "1234"),
     "F: tensors overlap or leave a hole at byte 1"},
    {"BytesLeftOver", file_of("{" + entry("a", "U8", "[1]", 0, 1) + "}", "1234"), "F has 3 bytes after its last tensor"},
};
INSTANTIATE_TEST_SUITE_P(Files, BadSafeTensors, ::testing::ValuesIn(bad_files),
                         [](const ::testing::TestParamInfo<BadFile> &info) { return info.param.name; });

/** A byte, a run of bytes or the end of a file changed at random. */
std::string damage(std::string bytes, std::mt19937 &random) {
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
        const size_t at = random() % bytes.size();
        static const std::string likely = "0123456789-[]{},:\"eE.\xff";
        switch (random() % 4) {
        case 0:
            bytes[at] = static_cast<char>(random());
            break;
        case 1:
            bytes[at] = likely[random() % likely.size()];
            break;
        case 2:
            bytes.erase(at, 1 + random() % 8);
            break;
        default:
            bytes.insert(at, 1 + random() % 3, likely[random() % likely.size()]);
            break;
        }
        if (bytes.empty()) return bytes;
    }
    return bytes;
}

TEST(SafeTensors, OfDamagedFilesNothingOutsideIsEverReturned) {
    std::string header = "{";
    for (int i = 0; i < 8; ++i)
        header += entry(fmt::format("t{}", i).c_str(), "F32", "[2,3]", 24 * i, 24 * (i + 1)) + (i < 7 ? "," : "}");
    const std::string whole = file_of(header, std::string(8 * 24, 'x'));
    constexpr uint32_t seed = 6;
    std::mt19937 random(seed);
    int read = 0, refused = 0;
    for (int round = 0; round < 20000; ++round) {
        const std::string damaged = damage(whole, random);
        const std::vector<char> bytes(damaged.begin(), damaged.end()); // of this length exactly, for tools that watch memory
        try {
            for (const auto &[name, tensor] : parse_safetensors({bytes.data(), bytes.size()}, "F")) {
                ASSERT_GE(tensor.bytes.data(), bytes.data()) << "seed " << seed << ", round " << round;
                ASSERT_LE(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size()) << "seed " << seed << ", round " << round;
                if (tensor.dtype != "F32") continue;
                ASSERT_EQ(to_f32(tensor, name).size(), static_cast<size_t>(count_elements(tensor.shape)));
            }
            ++read;
        } catch (const Error &) {
            ++refused;
        }
    }
    EXPECT_GT(read, 100); // a name or a number changed
    EXPECT_GT(refused, 10000);
}

class CheckpointFolder : public ::testing::Test {
protected:
    CheckpointFolder() { std::filesystem::create_directories(folder); }
    ~CheckpointFolder() override { std::filesystem::remove_all(folder); }
    void write(const char *name, const std::string &bytes) { std::ofstream(folder / name, std::ios::binary) << bytes; }

    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) /
                                         (std::string("attune_gpt_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CheckpointFolder, ShardsAreReadByTheirIndex) {
    write("config.json", R"({"n_layer": 2, "n_head": 0, "n_embd": "wide", "n_inner": 4.5, "n_ctx": 18446744073709551615})");
    write("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"}})");
    write("one.safetensors", file_of("{" + entry("a", "F32", "[2]", 0, 8) + "}", float_bytes));
    write("two.safetensors", file_of("{" + entry("b", "F32", "[1]", 0, 4) + "," + entry("c", "I8", "[4]", 4, 8) + "}", float_bytes));
    const Checkpoint checkpoint(folder);
    EXPECT_EQ(checkpoint.read("a", {2}), (std::vector<float>{1, -10}));
    EXPECT_EQ(checkpoint.read("b", {1}), std::vector<float>{1});
    EXPECT_EQ(thrown([&] { checkpoint.read("a", {1, 2}); }), "a has the shape [2]; by config.json it must be [1, 2]");
    EXPECT_EQ(thrown([&] { checkpoint.read("c", {4}); }), "c has the dtype I8; it must be F32, F16 or BF16");
    EXPECT_EQ(thrown([&] { checkpoint.read("d", {4}); }), "the checkpoint has no tensor d");
    EXPECT_EQ(checkpoint.size("n_layer"), 2);
    EXPECT_EQ(thrown([&] { checkpoint.size("n_head"); }), "config.json: \"n_head\" is 0; it must be 1 to 2^31 - 1");
    EXPECT_EQ(thrown([&] { checkpoint.size("n_embd"); }), "\"n_embd\" is \"wide\"; it must be a whole number of 64 bits");
    EXPECT_EQ(thrown([&] { checkpoint.size("n_inner"); }), "\"n_inner\" is 4.5; it must be a whole number of 64 bits");
    EXPECT_EQ(thrown([&] { checkpoint.size("n_ctx"); }), "\"n_ctx\" is 18446744073709551615; it must be a whole number of 64 bits");
}

TEST_F(CheckpointFolder, EachTensorIsOfTheShardThatTheIndexNames) {
    write("config.json", "{}");
    write("model.safetensors.index.json", R"({"weight_map": {"a": "two.safetensors", "b": "one.safetensors"}})");
    write("one.safetensors",
          file_of("{" + entry("a", "F32", "[1]", 4, 8) + "," + entry("b", "F32", "[1]", 0, 4) + "}", float_bytes)); // a stale a
    write("two.safetensors", file_of("{" + entry("a", "F32", "[2]", 0, 8) + "}", float_bytes));
    EXPECT_EQ(Checkpoint(folder).read("a", {2}), (std::vector<float>{1, -10}));
    write("two.safetensors", file_of("{" + entry("c", "F32", "[2]", 0, 8) + "}", float_bytes));
    EXPECT_EQ(thrown([&] { Checkpoint{folder}; }),
              (folder / "model.safetensors.index.json").string() + " says that two.safetensors has the tensor a, which it hasn't");
}

// What looks through a json's parts, or writes them, calls itself for each level.
TEST_F(CheckpointFolder, NoJsonIsReadHoweverDeep) {
    const std::string deep = std::string(200000, '[') + std::string(200000, ']');
    write("config.json", "{\"hidden_size\": " + deep + "}");
    EXPECT_EQ(thrown([&] { Checkpoint{folder}; }), (folder / "config.json").string() + " must hold one JSON object");
    write("config.json", "{}");
    write("model.safetensors", file_of("{\"a\": {\"dtype\": \"F32\", \"shape\": " + deep + ", \"data_offsets\": [0, 8]}}", float_bytes));
    EXPECT_EQ(thrown([&] { Checkpoint{folder}; }), (folder / "model.safetensors").string() + ": the header isn't a JSON object");
}

TEST_F(CheckpointFolder, PathsThatCannotBeLookedForAreNamed) {
    write("config.json", "{}");
    ASSERT_EQ(::mkfifo((folder / "model.safetensors").c_str(), 0600), 0); // without a writer
    EXPECT_EQ(thrown([&] { Checkpoint{folder}; }), (folder / "model.safetensors").string() + " must be a regular file");
    const std::string name(300, 'x');
    EXPECT_EQ(thrown([&] { is_there(name); }), name + " can't be looked for: File name too long");
}

TEST_F(CheckpointFolder, OneFileComesBeforeAnIndex) {
    write("config.json", "{}");
    write("model.safetensors.index.json", R"({"weight_map": {"a": "one.safetensors"}})");
    write("one.safetensors", file_of("{" + entry("a", "F32", "[2]", 0, 8) + "}", float_bytes));
    EXPECT_TRUE(Checkpoint(folder).has("a"));
    write("model.safetensors", file_of("{" + entry("b", "F32", "[2]", 0, 8) + "}", float_bytes));
    EXPECT_TRUE(Checkpoint(folder).has("b"));
    EXPECT_FALSE(Checkpoint(folder).has("a"));
}

TEST_F(CheckpointFolder, AnIndexNamesNoFilesElsewhere) {
    write("config.json", "{}");
    write("model.safetensors.index.json", R"({"weight_map": {"a": "../one.safetensors"}})");
    EXPECT_EQ(thrown([&] { Checkpoint{folder}; }),
              (folder / "model.safetensors.index.json").string() + " names the file \"../one.safetensors\"; it must lie beside the index");
}

} // namespace
} // namespace gpt
