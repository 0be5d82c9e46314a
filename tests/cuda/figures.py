"""What the machine code of the kernels for CUDA takes and holds, as a committed table.

    figures.py --ptxas PROGRAM --nvdisasm PROGRAM (--write | --check) TABLE FOLDER

FOLDER has attune_VARIANT.o, .ptx and .json of each variant, as attune_cuda_generator writes them: the machine code is that in the object,
which programs are linked with, and what ptxas said of it is in the .json. --write writes the table. --check fails, with a sentence for each
reason, where a kernel spills, has a stack, touches local memory, calls or has fewer tensor-core instructions in its hottest loop than its
schedule implies, and where the table was made by this very ptxas, where a figure isn't the table's.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import cuda_census  # noqa: E402

NAMES = ["variant", "kernel", "arch"]
FIGURES = ["registers", "spill bytes", "stack bytes", "static shared bytes", "HMMA in loop", "HGMMA in loop", "instructions in loop",
           "HMMA on the shortest way", "MUFU on the shortest way", "instructions on the shortest way", "instructions where it rescales",
           "LDSM", "LDGSTS", "BAR", "MUFU", "CALL", "of these division", "local loads and stores", "instructions"]
# What every kernel must have none of.
FORBIDDEN = ["spill bytes", "stack bytes", "local loads and stores"]
REGISTERS = 65536  # of a multiprocessor; a thread has a multiple of 8
LONGEST = {"attention_mma_bf16_d128": 450, "attention_mma_f16_d128": 450}  # way through a step: 32 keys by 32 rows a warp
NEWEST = "sm_90"
AT_ONCE = 2
FATBIN = struct.pack("<IHH", 0xBA55ED50, 1, 16)  # how one begins: generators/ptx/fatbin.h has the layout
CUBIN = 2
SPECIFIC = 0x100000  # flag of an architecture with an "a"

TEXT = """# Figures of the kernels for CUDA

What ptxas said of each kernel in the library, and what its machine code holds, for the lowest architecture it is made for and for {newest};
kernels for sm_90a are for that alone. `tests/cuda/figures.py --write` wrote it with ptxas {ptxas} and nvdisasm {nvdisasm}. The test
`cuda.figures` takes the figures again and, where ptxas is of that version, compares them. With any version it fails where a kernel spills, has
a stack, uses local memory or calls, where the loop has fewer tensor-core instructions (HMMA) than the schedule implies, or another number of those of a
warpgroup (HGMMA), where a step takes another number of exponentials (MUFU) than it has scores, where attention by `wgmma` with heads of 64
takes more registers than two thread blocks leave each other, and where for heads of 128 the shortest way through a step has more than
{longest} instructions. To write the table anew, of the kernels in a build:

    python3 tests/cuda/figures.py --ptxas PTXAS --nvdisasm NVDISASM --write docs/cuda_figures.md build/release/kernels

Shared memory is the static part: what kernels ask for at launch ptxas doesn't see. The loop is the hottest one (`cmake/cuda_census.py`
says how it is found), with all ways through it: a step of attention by `mma` holds the scores' product once and the values' twice, since
values that aren't finite need more care; by `wgmma` that care is HMMA, and the rest HGMMA. The shortest way is that of a block which every row
attends to, whose scores are only scaled: the one with the fewest instructions that has both products, everything else in the step with it.
Where a row's largest score grows far, a step rescales: the next figure is of the shortest way then. All other counts are of the whole kernel. Where a
plain kernel divides, or takes a reciprocal, as IEEE 754 demands, ptxas puts what only operands near the ends of the range need into a routine
of its own. Calls of these are counted under "of these division" and allowed outside tensor-core kernels; no others are.

"""


def fail(sentence):
    sys.exit(f"figures: {sentence}")


def run(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        fail(f"cannot run {command[0]}: {error.strerror}")
    if done.returncode != 0:
        fail(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout + done.stderr


def version(program):
    found = re.search(r"\bV(\d+(?:\.\d+)+)", run(program, "--version"))
    return found.group(1) if found else fail(f"{program} --version names no version")


def cubins(path):
    """{architecture: machine code} in the fat binary that an object holds; {} where it holds PTX alone."""
    data = path.read_bytes()
    found = data.find(FATBIN)
    if found < 0:
        fail(f"{path} holds no fat binary")
    at = found + len(FATBIN) + 8
    end = at + struct.unpack_from("<Q", data, at - 8)[0]
    result = {}
    while at < end:
        kind, _, header, size = struct.unpack_from("<HHIQ", data, at)
        number, = struct.unpack_from("<I", data, at + 28)
        flags, = struct.unpack_from("<Q", data, at + 40)
        if kind == CUBIN:
            result[f"sm_{number}{'a' if flags & SPECIFIC else ''}"] = data[at + header : at + header + size]
        at += header + size
    return result


def taken_of(path):
    """{architecture: {kernel: {registers: 40, ...}}} of what ptxas said when a library was made."""
    result = {}
    for kernel in json.loads(path.with_suffix(".json").read_text(encoding="utf-8")):
        result.setdefault(kernel["arch"], {})[kernel["kernel"]] = {
            "registers": kernel["registers"],
            "spill bytes": kernel["spill_stores"] + kernel["spill_loads"],
            "stack bytes": kernel["stack_bytes"],
            "static shared bytes": kernel["shared_bytes"],
        }
    return result


def divisions(sass):
    """{kernel: number} of the calls of ptxas's own routines for division."""
    result = {}
    kernel = None
    for line in sass.splitlines():
        section = cuda_census.SECTION.match(line)
        if section:
            kernel = section.group(1)
        elif re.search(r"\bCALL\S*\s+`\(\$__internal_\d+_\$__cuda_sm\w+?_(div|rcp)_\w+\)", line):
            result[kernel] = result.get(kernel, 0) + 1
    return result


def census_figures(sass, variant=""):
    """{kernel: {LDSM: 104, ...}} of what nvdisasm -c prints."""
    divided = divisions(sass)
    result = {}
    for kernel in cuda_census.read_kernels(sass):
        everything, loop = cuda_census.count(kernel.opcodes), cuda_census.count(kernel.of(kernel.hottest_loop()))
        shortest, rescaling = ways(kernel, {"variant": variant, "kernel": short(kernel.name)})
        result[kernel.name] = {
            **{opcode: everything[opcode] for opcode in ("LDSM", "LDGSTS", "BAR", "MUFU", "CALL")},
            "HMMA in loop": loop["HMMA"],
            "HGMMA in loop": loop["HGMMA"],
            "instructions in loop": loop["total"],
            "HMMA on the shortest way": shortest["HMMA"],
            "MUFU on the shortest way": shortest["MUFU"],
            "instructions on the shortest way": shortest["total"],
            "instructions where it rescales": rescaling["total"],
            "of these division": divided.get(kernel.name, 0),
            "local loads and stores": everything["LDL"] + everything["STL"],
            "instructions": everything["total"],
        }
    return result


def ways(kernel, row):
    """Counts of the shortest way through the loop that has both products, and of that which rescales: a maximum of four lanes is of each of a
    lane's rows, two of a tile. All 0 for kernels without products."""
    products = {"HMMA": tensor_instructions(row)[0]}
    if by_warpgroups(row):
        products = {"HGMMA": implied_warpgroup_instructions(row)}
    loop = kernel.hottest_loop() if any(products.values()) else range(0)
    return [cuda_census.count(kernel.shortest_way(loop, wanted)) for wanted in (products, {**products, "SHFL": 4 * blocking(row)[2]})]


def short(kernel):
    return re.sub(r"_block_id_[xyz]", "", re.sub(r"^_kernel_", "", kernel))


def variant_of(path):
    return path.stem[len("attune_"):]


def disassemble(options, path, arch, cubin, taken):
    """The rows of one variant for one architecture, of which ptxas said what is taken."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        held = census_figures(cuda_census.disassemble(options.nvdisasm, file.name), variant_of(path))
    if not taken or taken.keys() != held.keys():
        fail(f"ptxas and nvdisasm name different kernels in {path} for {arch}: {sorted(taken)} and {sorted(held)}")
    names = {kernel: {"variant": variant_of(path), "kernel": short(kernel), "arch": arch} for kernel in sorted(taken)}
    return [{**names[kernel], **taken[kernel], **held[kernel]} for kernel in names]


def shown(architectures):
    """Of the architectures of a library, lowest first, those with rows in the table."""
    return [arch for arch in architectures if arch in (architectures[0], NEWEST)]


def measure(options, files):
    jobs = []
    for path in files:
        code, taken = cubins(path.with_suffix(".o")), taken_of(path)
        jobs += [(path, arch, code[arch], taken.get(arch, {})) for arch in shown(list(code))]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return [row for rows in pool.map(lambda job: disassemble(options, *job), jobs) for row in rows]


def by_warpgroups(row):
    return row["variant"].startswith("attention_wgmma_")


def blocking(row):
    """Channels of a head, keys a step and tiles of 16 rows a warp of attention on tensor cores, as schedules/cuda/block_sizes.h has them; all 0
    of others: in f32 there are no matrix instructions, and what merges chunks multiplies no matrices."""
    found = re.fullmatch(r"attention_(mma|wgmma|split_kv)_b?f16_d(\d+)", row["variant"])
    if not found or (found.group(1) == "split_kv" and not row["kernel"].startswith("chunk_state")):
        return 0, 0, 0
    head_dim = int(found.group(2))
    if by_warpgroups(row):
        return head_dim, 64 if head_dim == 64 or head_dim > 128 else 128, 1
    return head_dim, 32 if head_dim <= 192 else 16, 2 if found.group(1) == "mma" and head_dim <= 128 else 1


def implied_exponentials(row):
    """MUFU that a step takes where it doesn't rescale: one for each score of a lane."""
    _, keys, tiles = blocking(row)
    return keys * tiles // 2


def tensor_instructions(row):
    """HMMA that a step of keys executes, and those in its code; 0 for a kernel without them.

    A warp has 16 rows of queries, or by mma 32 for heads of up to 128; an mma takes 16 of what is summed over and gives 16 rows by 8 columns.
    The values' product has a column block more than the head has, for the sum of the weights, and is there twice: for finite values and with
    the care that others need. By wgmma there is that care alone, without sums.
    """
    head_dim, keys, tiles = blocking(row)
    if not head_dim:
        return 0, 0
    if by_warpgroups(row):
        return 0, head_dim // 8 * (keys // 16)
    scores = tiles * (head_dim // 16) * (keys // 8)
    values = tiles * (head_dim // 8 + 1) * (keys // 16)
    return scores + values, scores + 2 * values


def most_registers(row):
    """Of a thread: where two blocks of 256 by wgmma are to share a multiprocessor half of what there is for one, else as many as there are."""
    return REGISTERS // (2 * 256) if re.fullmatch(r"attention_wgmma_b?f16_d64", row["variant"]) else 255


def implied_warpgroup_instructions(row):
    """HGMMA that a step of keys takes, no more and no less: one for 16 channels of all its scores, and one for 16 keys of all its outputs."""
    head_dim, keys, _ = blocking(row)
    return head_dim // 16 + keys // 16 if by_warpgroups(row) else 0


def where(row):
    return f"{row['variant']}, kernel {row['kernel']}, {row['arch']}"


def faults(row):
    """A sentence for each limit that a row of figures breaks."""
    for figure in FORBIDDEN:
        if row[figure]:
            yield f"{where(row)}: {row[figure]} {figure}; the limit is 0."
    if row["registers"] > most_registers(row):
        yield f"{where(row)}: {row['registers']} registers; the limit is {most_registers(row)}."
    executed, least = tensor_instructions(row)
    longest = LONGEST.get(row["variant"])
    if longest and not 0 < row["instructions on the shortest way"] <= longest:
        yield f"{where(row)}: {row['instructions on the shortest way']} instructions on the shortest way; the limit is {longest}."
    if row["HMMA on the shortest way"] != executed:
        yield f"{where(row)}: {row['HMMA on the shortest way']} HMMA on the shortest way; the schedule implies {executed}."
    if row["MUFU on the shortest way"] != implied_exponentials(row):
        yield f"{where(row)}: {row['MUFU on the shortest way']} MUFU on the shortest way; the schedule implies {implied_exponentials(row)}."
    calls = row["CALL"] - (0 if least else row["of these division"])
    if calls:
        yield f"{where(row)}: {calls} CALL{'' if least else ' other than for division'}; the limit is 0."
    if row["HMMA in loop"] < least:
        yield f"{where(row)}: {row['HMMA in loop']} HMMA in loop; the schedule implies at least {least}."
    wanted = implied_warpgroup_instructions(row)
    if row["HGMMA in loop"] != wanted:
        yield f"{where(row)}: {row['HGMMA in loop']} HGMMA in loop; the schedule implies {wanted}."


def faults_between(path):
    """As faults, of the architectures in a library that have no rows, by what ptxas said when it was made."""
    taken = taken_of(path)
    for arch in taken.keys() - set(shown(list(taken))):
        for kernel, figures in taken[arch].items():
            row = {"variant": variant_of(path), "kernel": short(kernel), "arch": arch, **figures}
            for figure in ("spill bytes", "stack bytes"):
                if row[figure]:
                    yield f"{where(row)}: {row[figure]} {figure}; the limit is 0."
            if row["registers"] > most_registers(row):
                yield f"{where(row)}: {row['registers']} registers; the limit is {most_registers(row)}."


def cells(values):
    return "| " + " | ".join(str(value) for value in values) + " |\n"


def table(rows, ptxas, nvdisasm):
    columns = NAMES + FIGURES
    text = TEXT.format(newest=NEWEST, longest=max(LONGEST.values()), ptxas=ptxas, nvdisasm=nvdisasm) + cells(columns) + "|" + "---|" * 3 + "---:|" * len(FIGURES) + "\n"
    return text + "".join(cells(row[column] for column in columns) for row in rows)


def read_table(text):
    """The version of ptxas that made a table, and its rows."""
    made = re.search(r"ptxas (\d+(?:\.\d+)+)", text)
    lines = [line.strip("| \n").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    if not made or not lines or lines[0] != NAMES + FIGURES:
        fail("the table isn't as --write writes it; write it anew")
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    return made.group(1), [{name: row[name] if name in NAMES else int(row[name]) for name in row} for row in rows]


def differences(rows, committed):
    """A sentence for each figure that isn't the table's. Rows of variants that this build leaves out don't count."""
    built = {row["variant"] for row in rows}
    found = {where(row): row for row in rows}
    expected = {where(row): row for row in committed if row["variant"] in built}
    for key in expected.keys() - found.keys():
        yield f"{key}: is in the table, but there is no such kernel."
    for key in found.keys() - expected.keys():
        yield f"{key}: isn't in the table."
    for key in found.keys() & expected.keys():
        for figure in FIGURES:
            if found[key][figure] != expected[key][figure]:
                yield f"{key}: {figure} is {found[key][figure]}; in the table it is {expected[key][figure]}."


def check(options, files, rows):
    sentences = [sentence for row in rows for sentence in faults(row)]
    for path in files:
        sentences += faults_between(path)
    made, committed = read_table(options.check.read_text(encoding="utf-8"))
    ptxas = version(options.ptxas)
    if ptxas == made:
        changed = sorted(differences(rows, committed))
        if changed:
            tools = f"--ptxas {options.ptxas} --nvdisasm {options.nvdisasm}"
            changed.append(f"If that is meant: python3 {sys.argv[0]} {tools} --write {options.check} {options.folder}")
        sentences += changed
    else:
        print(f"The table is of ptxas {made}, and this is {ptxas}: figures aren't compared.")
    print("\n".join(sentences) or f"{len(rows)} kernels are within their limits.")
    return 1 if sentences else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", required=True, help="NVIDIA's assembler that made the kernels, for its version")
    parser.add_argument("--nvdisasm", required=True, help="NVIDIA's disassembler")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write", type=pathlib.Path, metavar="TABLE", help="write the table")
    mode.add_argument("--check", type=pathlib.Path, metavar="TABLE", help="check the kernels against limits and the table")
    parser.add_argument("folder", type=pathlib.Path, help="where the kernels are")
    options = parser.parse_args()
    files = sorted(options.folder.glob("attune_*.ptx"))
    if not files:
        print(f"skipped: there is no kernel for CUDA in {options.folder}")
        return 0
    rows = measure(options, files)
    if options.check:
        return check(options, files, rows)
    options.write.write_text(table(rows, version(options.ptxas), version(options.nvdisasm)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
