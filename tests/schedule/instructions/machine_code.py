"""Machine code as tests read it."""
import functools
import re
import subprocess

INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(\S+) *(.*)$", re.MULTILINE)


class Disassembler:
    """What a program, GNU objdump or its like, says of object files."""

    def __init__(self, program):
        self.program = program

    def disassembly(self, path, *options):
        return subprocess.run([self.program, "-d", "--no-show-raw-insn", *options, str(path)], check=True, capture_output=True, text=True).stdout

    def mnemonics_of(self, path):
        return [found[2] for found in INSTRUCTION.finditer(self.disassembly(path))]

    def mnemonics_by_function(self, path):
        parts = re.split(r"^[0-9a-f]+ <(.*)>:$", self.disassembly(path), flags=re.MULTILINE)
        return {name: [found[2] for found in INSTRUCTION.finditer(text)] for name, text in zip(parts[1::2], parts[2::2])}

    def offences(self, path, mnemonic, operand=None):
        """The first lines whose mnemonic or operands match: each mnemonic is looked at once, and the lines only where there is an offence."""
        text = self.disassembly(path)
        bad = {found for found in {found[2] for found in INSTRUCTION.finditer(text)} if mnemonic.match(found)}
        if not bad and not (operand and operand.search(text)):
            return []
        return [found[0] for found in INSTRUCTION.finditer(text) if found[2] in bad or (operand and operand.search(found[3]))][:3]

    @functools.cache
    def loops_and_what_follows(self, path):
        """The body of every loop that holds no other jump back, and the 32 instructions after it, as (address, mnemonic, operands) of each."""
        loops = []
        for section in self.disassembly(path).split("Disassembly of section")[1:]: # addresses count from each one's start
            instructions = [(int(found[1], 16), found[2], found[3]) for found in INSTRUCTION.finditer(section)]
            place = {address: i for i, (address, _, _) in enumerate(instructions)}
            last_jump = -1
            for i, (address, mnemonic, operands) in enumerate(instructions):
                target = re.match(r"([0-9a-f]+) <", operands) if mnemonic.startswith("j") else None
                if target is None or int(target[1], 16) > address:
                    continue
                start = place[int(target[1], 16)]
                if start > last_jump:
                    loops.append((instructions[start:i + 1], instructions[i + 1:i + 33]))
                last_jump = i
        return loops

    def innermost_loops(self, path):
        return [loop for loop, _ in self.loops_and_what_follows(path)]

    def loops_around_calls(self, path, function):
        """The shortest loop around each call of a function of another object, as (address, mnemonic, operands) of each instruction."""
        loops = []
        for section in self.disassembly(path, "-r").split("Disassembly of section")[1:]:
            instructions, calls = [], []
            for line in section.splitlines():
                if found := INSTRUCTION.match(line):
                    instructions.append((int(found[1], 16), found[2], found[3]))
                elif f"\t{function}-" in line:
                    calls.append(instructions[-1][0])
            jumps = [(int(found[1], 16), address) for address, mnemonic, operands in instructions
                     if mnemonic.startswith("j") and (found := re.match(r"([0-9a-f]+) <", operands))]
            for call in calls:
                around = [(start, end) for start, end in jumps if start <= call <= end]
                if around:
                    start, end = min(around, key=lambda ends: ends[1] - ends[0])
                    loops.append([instruction for instruction in instructions if start <= instruction[0] <= end])
        return loops


def touches_stack_with_vectors(instruction):
    return re.search(r"\(%rsp|\(%rbp", instruction[2]) is not None and re.search(r"%[xyz]mm", instruction[2]) is not None
