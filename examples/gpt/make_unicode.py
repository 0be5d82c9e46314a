#!/usr/bin/env python3
"""Writes unicode_ranges.h: which code points are letters, numbers and white space, as Python's unicodedata has them."""
import pathlib
import sys
import unicodedata

WHITE_SPACE = [(0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
               (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]  # the property White_Space, which unicodedata lacks


def ranges(category: str) -> list:
    """First and last code points of each run whose general category begins with that letter."""
    found = []
    for point in range(sys.maxunicode + 1):
        if not unicodedata.category(chr(point)).startswith(category):
            continue
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


def table(name: str, rows: list) -> str:
    cells = [f"{{0x{first:X}, 0x{last:X}}}," for first, last in rows]
    lines, line = [], "   "
    for cell in cells:
        if len(line) + 1 + len(cell) > 140:
            lines.append(line)
            line = "   "
        line += " " + cell
    return f"inline constexpr CodePointRange {name}[] = {{\n" + "\n".join(lines + [line]) + "\n};\n"


def main() -> None:
    head = (f"// Made by make_unicode.py from Unicode {unicodedata.unidata_version}: sorted and disjoint, both ends included.\n"
            "#pragma once\n\n#include <cstdint>\n\nnamespace gpt {\n\nstruct CodePointRange {\n    uint32_t first, last;\n};\n\n"
            "// clang-format off\n")
    body = "\n".join([table("letter_ranges", ranges("L")), table("number_ranges", ranges("N")), table("space_ranges", WHITE_SPACE)])
    (pathlib.Path(__file__).parent / "unicode_ranges.h").write_text(head + body + "// clang-format on\n\n} // namespace gpt\n")


if __name__ == "__main__":
    main()
