#!/usr/bin/env python3
"""Counts the instructions of machine code: of each kernel of a cubin, and of its hottest loop.

    cuda_census.py --nvdisasm PROGRAM [--json] CUBIN...
    cuda_census.py --sass [--json] TEXT...      what nvdisasm -c printed

Who imports this can ask for the shortest way through a loop, too: of those that have so many of some opcodes the one with the fewest instructions.

The hottest loop is the longest run of instructions that a branch goes back over and that has tensor-core instructions; where there are
none, the longest such run. Instructions that never run (@!PT, which ptxas adds as padding) don't count, nor does CALL in a kernel without
RET: ptxas jumps that way, too.
"""

import argparse
import heapq
import json
import re
import subprocess
import sys

OPCODES = ["HMMA", "HGMMA", "LDSM", "LDS", "STS", "LDGSTS", "LDG", "STG", "BAR", "CALL", "LDL", "STL", "SHFL", "MUFU"]
TENSOR = {"HMMA", "HGMMA"}

SECTION = re.compile(r"^\s*\.section\s+\.text\.([^\s,\"]+)")
LABEL = re.compile(r"^(\.L[\w.$]*):")
# "/*0a40*/  @!P0 BRA `(.L_x_3) ;"
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@(!?U?P[0-9T])\s+)?([A-Z][A-Z0-9_]*)(\S*)\s*(.*)")
TARGET = re.compile(r"`\((\.L[\w.$]*)\)")


class Kernel:
    def __init__(self, name):
        self.name = name
        self.opcodes = []  # one an instruction; None: it never runs
        self.labels = {}  # the number of the instruction that follows
        self.branches = []  # number of the instruction, label
        self.always = set()  # numbers of branches that no condition guards

    def add(self, line):
        label = LABEL.match(line)
        if label:
            self.labels[label.group(1)] = len(self.opcodes)
            return
        found = INSTRUCTION.match(line)
        if not found:
            return
        _, guard, opcode, _, operands = found.groups()
        target = TARGET.search(operands)
        if opcode in ("BRA", "CALL") and target:
            self.branches.append((len(self.opcodes), target.group(1)))
            if not guard:
                self.always.add(len(self.opcodes))
        self.opcodes.append(None if guard == "!PT" else opcode)

    def finish(self):
        if "RET" not in self.opcodes:
            self.opcodes = ["BRA" if opcode == "CALL" else opcode for opcode in self.opcodes]

    def loops(self):
        """The numbers of the instructions between the target of every branch backwards and the branch."""
        for at, label in self.branches:
            begin = self.labels.get(label, at + 1)
            if begin < at:
                yield range(begin, at + 1)

    def hottest_loop(self):
        loops = list(self.loops())
        tensor = [loop for loop in loops if TENSOR.intersection(self.of(loop))]
        return max(tensor or loops, key=len, default=range(0))

    def of(self, numbers):
        return self.opcodes[numbers.start : numbers.stop]

    def blocks(self, loop):
        """Straight runs of a loop's instructions, by where they begin: (opcodes, where those begin that may follow)."""
        branches = {at: self.labels.get(label) for at, label in self.branches}
        begins = {loop.start} | {at for at in self.labels.values() if at in loop} | {at + 1 for at in branches if at + 1 in loop}
        begins = sorted(begins) + [loop.stop]
        result = {}
        for begin, end in zip(begins, begins[1:]):
            follow = [] if end - 1 in self.always else [end]
            result[begin] = (self.opcodes[begin:end], follow + [branches.get(end - 1)])
        return result

    def shortest_way(self, loop, wanted):
        """The opcodes once through a loop, of the shortest way that has at least wanted[opcode] of each opcode; [] where there is none."""
        blocks = self.blocks(loop) if loop else {}
        last = max(blocks, default=None)
        ways = [(0, [loop.start], (0,) * len(wanted))] if blocks else []  # each up to the last of its blocks, which doesn't count yet
        seen = set()
        while ways:
            length, way, had = heapq.heappop(ways)
            if (way[-1], had) in seen:
                continue
            seen.add((way[-1], had))
            opcodes, follow = blocks[way[-1]]
            had = tuple(min(most, number + opcodes.count(name)) for (name, most), number in zip(wanted.items(), had))
            if way[-1] == last and had == tuple(wanted.values()):
                return [opcode for begin in way for opcode in blocks[begin][0]]
            for after in follow:
                if after in blocks and way[-1] != last:
                    heapq.heappush(ways, (length + len(opcodes) - opcodes.count(None), way + [after], had))
        return []


def read_kernels(sass):
    kernels = []
    for line in sass.splitlines():
        section = SECTION.match(line)
        if section:
            kernels.append(Kernel(section.group(1)))
        elif kernels:
            kernels[-1].add(line)
    for kernel in kernels:
        kernel.finish()
    return kernels


def count(opcodes):
    running = [opcode for opcode in opcodes if opcode is not None]
    result = {opcode: running.count(opcode) for opcode in OPCODES}
    result["total"] = len(running)
    return result


def census(sass):
    """[{kernel, all: {HMMA: 132, ..., total: 784}, loop: {...}}] of the text that nvdisasm -c prints."""
    return [{"kernel": k.name, "all": count(k.opcodes), "loop": count(k.of(k.hottest_loop()))} for k in read_kernels(sass)]


def disassemble(nvdisasm, cubin):
    done = subprocess.run([nvdisasm, "-c", cubin], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"cuda_census: {nvdisasm} cannot read {cubin}: {done.stderr.strip()}")
    return done.stdout


def table(file, kernels):
    lines = []
    for kernel in kernels:
        for part in ("all", "loop"):
            counts = " ".join(f"{name} {number}" for name, number in kernel[part].items())
            lines.append(f"{file} {kernel['kernel']} {part}: {counts}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the disassembler")
    parser.add_argument("--sass", action="store_true", help="the files are text that nvdisasm -c printed")
    parser.add_argument("--json", action="store_true", help="print JSON: a list of kernels by file")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    result = {}
    for file in options.files:
        if options.sass:
            with open(file, encoding="utf-8") as text:
                result[file] = census(text.read())
        else:
            result[file] = census(disassemble(options.nvdisasm, file))
        if not result[file]:
            sys.exit(f"cuda_census: there is no kernel in {file}")
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print("\n".join(table(file, kernels) for file, kernels in result.items()))


if __name__ == "__main__":
    main()
