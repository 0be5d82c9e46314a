#include "schedules/machine.h"

#include <nlohmann/json.hpp>

#include "schedules/tuned_json.h" // generated: the text of schedules/tuned/*.json

namespace attune::schedules {

const char *device_of(const Halide::Target &target) { return target.has_gpu_feature() ? "cuda" : "x86"; }

namespace {

Machine warp() {
    Machine m;
    m.name = "cuda", m.gpu = true;
    m.float_lanes = 32, m.vector_registers = 255;
    m.fused = m.converts_float16 = true;
    return m;
}

Machine with_avx2(const Halide::Target &target) {
    Machine m;
    m.name = "x86-64-avx2";
    m.float_lanes = 8;
    m.fused = true, m.masked_load_bits = 32;
    m.converts_float16 = target.has_feature(Halide::Target::F16C);
    return m;
}

Machine with_avx512(const Halide::Target &target, const Halide::Type &dtype) {
    Machine m;
    m.name = "x86-64-avx512", m.avx512 = true;
    m.float_lanes = 16, m.vector_registers = 32;
    m.fused = true, m.masked_load_bits = 8;
    m.converts_float16 = true;
    const bool zen5 = target.has_feature(Halide::Target::AVX512_Zen5);
    if (zen5 || target.has_feature(Halide::Target::AVX512_Zen4)) {
        m.name = zen5 ? "x86-64-avx512_zen5" : "x86-64-avx512_bf16";
        m.bfloat16_pairs = dtype.is_bfloat();
    } else if (target.has_feature(Halide::Target::AVX512_SapphireRapids)) {
        if (dtype.is_bfloat())
            m.name = "x86-64-avx512_amx", m.bfloat16_pairs = m.bfloat16_tiles = true;
        else
            m.parts_by_tiles = dtype == Halide::Float(32) ? 3 : dtype == Halide::Float(16) ? 2 : 0;
    }
    return m;
}

Machine machine_for(const Halide::Target &target, const Halide::Type &dtype) {
    if (target.has_gpu_feature()) return warp();
    if (target.features_any_of({Halide::Target::AVX512_Skylake, Halide::Target::AVX512_Zen4, Halide::Target::AVX512_Zen5,
                                Halide::Target::AVX512_SapphireRapids}))
        return with_avx512(target, dtype);
    if (target.has_feature(Halide::Target::AVX2)) return with_avx2(target);
    Machine m;
    m.name = "x86-64";
    return m;
}

nlohmann::json sizes(const Machine &machine, const std::string &schedule) {
    return nlohmann::json::parse(tuned_json(machine.name)).at(schedule);
}

nlohmann::json tuned(const Machine &machine, const std::string &schedule, const std::string &exact) {
    const nlohmann::json all = sizes(machine, schedule);
    return all.contains(exact) ? all.at(exact) : all.at("any");
}

std::string of_head_dim(int head_dim) { return "head_dim " + std::to_string(head_dim); }

std::string name_of(const Halide::Type &stored) {
    if (stored.is_bfloat()) return "bf16";
    return stored.is_float() ? "f" + std::to_string(stored.bits()) : "int" + std::to_string(stored.bits());
}

dsl::Nearness nearness(const nlohmann::json &streams) {
    return streams.at("level_ahead") == 1 ? dsl::Nearness::first_level : dsl::Nearness::second_level;
}

} // namespace

Machine machine(const Halide::Target &target, const Halide::Type &dtype) {
    Machine machine = machine_for(target, dtype);
    machine.elements = dtype;
    return machine;
}

Tiles tuned_tiles(const Machine &machine, const std::string &schedule, int head_dim) {
    const nlohmann::json t = tuned(machine, schedule, of_head_dim(head_dim));
    const Tiles tiles = {t.at("rows_per_tile"), t.at("tiles_per_task"), t.at("keys_per_block"), t.at("keys_per_panel"), t.at("value_step")};
    // dsl::Blocking::share() halves them.
    if (tiles.tiles_per_task < 1 || (tiles.tiles_per_task & (tiles.tiles_per_task - 1)) != 0)
        throw Halide::CompileError("attune: in schedules/tuned tiles_per_task of " + schedule + " is " +
                                   std::to_string(tiles.tiles_per_task) + " for " + machine.name + "; it must be a power of 2");
    return tiles;
}

Streams tuned_streams(const Machine &machine, const std::string &schedule, int head_dim, const Halide::Type &stored) {
    nlohmann::json s = tuned(machine, schedule, of_head_dim(head_dim));
    const std::string type = machine.bfloat16_pairs && stored.is_bfloat() ? "pairs" : name_of(stored);
    for (const std::string &narrower : {type, type + " " + of_head_dim(head_dim)})
        s.merge_patch(sizes(machine, schedule).value(narrower, nlohmann::json::object()));
    const int panel = s.at("keys_per_panel"), part = s.value("keys_per_part", panel), streams = s.at("streams"),
              at_once = s.value("keys_at_once", streams);
    if (at_once < 1 || streams % at_once != 0)
        throw Halide::CompileError("attune: in schedules/tuned keys_at_once of " + schedule + " is " + std::to_string(at_once) + " for " +
                                   machine.name + "; it must divide streams, " + std::to_string(streams));
    if (part < 1 || panel % part != 0 || (part != panel && s.at("in_turn")))
        throw Halide::CompileError("attune: in schedules/tuned keys_per_part of " + schedule + " is " + std::to_string(part) + " for " +
                                   machine.name + "; it must divide keys_per_panel, " + std::to_string(panel) +
                                   ", and be that where streams take turns");
    return {s.at("keys_per_chunk"),
            s.at("keys_per_chunk_alone"),
            panel,
            part,
            streams,
            s.at("in_turn"),
            s.at("bytes_ahead"),
            s.value("value_bytes_ahead", s.at("bytes_ahead").get<std::vector<int>>()),
            s.at("bytes_ahead_alone"),
            nearness(s),
            s.at("rows_per_vector"),
            s.at("short_key"),
            at_once};
}

WeightStreams tuned_weight_streams(const Machine &machine, const std::string &schedule) {
    const nlohmann::json s = tuned(machine, schedule, machine.bfloat16_pairs ? "pairs" : "any");
    return {s.at("panels"), s.at("words_ahead"), nearness(s)};
}

} // namespace attune::schedules
