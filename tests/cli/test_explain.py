"""attune explain: cells and blocks against counts by brute force, the pictures, and what is refused."""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import xml.etree.ElementTree

import command
from npy import Array

SVG = "{http://www.w3.org/2000/svg}"


def grid_of(allows, queries, keys, block):
    """The blocks of a mask: '.' where no cell attends, '#' where all do, '+' otherwise."""
    def sign(row, column):
        cells = [allows(i, j) for i in range(row, min(row + block[0], queries)) for j in range(column, min(column + block[1], keys))]
        return "#" if all(cells) else "+" if any(cells) else "."
    return ["".join(sign(row, column) for column in range(0, keys, block[1])) for row in range(0, queries, block[0])]


class Explain(command.CommandTest):
    def report(self, text, queries, keys, *options, env=None):
        return json.loads(self.run_well("explain", text, "--queries", queries, "--keys", keys, "--json", *options, env=env))

    def check(self, text, allows, queries=13, keys=13, block=(4, 3), options=()):
        with self.subTest(text):
            report = self.report(text, queries, keys, "--block", f"{block[0]}x{block[1]}", *options)
            grid = grid_of(allows, queries, keys, block)
            cells = "".join(grid)
            self.assertEqual(report["grid"], grid)
            self.assertEqual(report["cells"], {"total": queries * keys, "attended": sum(bool(allows(i, j)) for i in range(queries) for j in range(keys))})
            self.assertEqual(report["blocks"], {"total": len(cells), "empty": cells.count("."), "partial": cells.count("+"), "full": cells.count("#")})
            self.assertAlmostEqual(report["skipped"], cells.count(".") / len(cells))
            self.assertEqual((report["mask"], report["queries"], report["keys"]), (text, queries, keys))
            self.assertEqual(report["block"], {"queries": block[0], "keys": block[1]})

    def test_terms(self):
        self.check("none", lambda i, j: True)
        self.check("causal", lambda i, j: j <= i)
        self.check("causal(bottom_right)", lambda i, j: j <= i + 9, queries=4)
        self.check("window(5, 1)", lambda i, j: i - 5 <= j <= i + 1, block=(1, 1))
        self.check("window(-1, 2)", lambda i, j: j <= i + 2, block=(64, 64))
        self.check("prefix(7)", lambda i, j: j < 7)
        self.check("dilated(3)", lambda i, j: (i - j) % 3 == 0)
        self.check("strided(5, 2)", lambda i, j: j % 5 < 2)
        self.check("!causal | window(2, 0) & !prefix(3)", lambda i, j: j > i or (i - 2 <= j <= i and j >= 3))

    def test_an_offset(self):
        self.check("causal", lambda i, j: j <= i + 4, queries=5, options=("--offset", 4))
        self.check("causal & dilated(4, top_left)", lambda i, j: j <= i - 2 and (i - j) % 4 == 0, options=("--offset", -2))

    def test_named_parameters(self):
        self.check("window(width, 0) | prefix(sinks)", lambda i, j: i - 3 <= j <= i or j < 2, options=("--param", "sinks=2", "--param", "width=3"))
        report = self.report("prefix(n)", 8, 8, "--param", "n=3")
        self.assertEqual((report["kernel"], report["attune_add_kernel"]), (None, 'attune_add_kernel(my_attention MASK "prefix(n)" HEAD_DIM 64)'))
        for given, says in [((), "the mask's n needs --param n=NUMBER"), (("n",), "--param is n; it must be a name and a number"),
                            (("n=3", "n=4"), "--param n is given twice"), (("n=3", "m=4"), "--param m=4 is given; the mask has no m"),
                            (("n=-1",), "--param n is -1; it must be an integer from 0"), (("n=x",), "--param n is x")]:
            self.refuse("explain", "prefix(n)", "--queries", 8, "--keys", 8, *(word for one in given for word in ("--param", one)), says=says)

    def test_data(self):
        ids = [0, 0, 0, 5, 5, -1, -1, -1, -1, 7, 7, 7, 7]
        for descr in ("<i4", "<i8"):
            self.write("ids.npy", Array([13], ids, descr))
            self.check("documents & causal", lambda i, j: ids[i] == ids[j] and j <= i, options=("--documents", "ids.npy"))
        self.write("two.npy", Array([2], [5, 7], "<i4"))
        self.check("documents", lambda i, j: [5, 7][i] == ids[j], queries=2, options=("--documents", "ids.npy", "--query-documents", "two.npy"))
        self.check("lengths & causal", lambda i, j: j <= i and j < 6, options=("--length", 6))
        chosen = Array([3, 4], [self.random.random() < 0.5 for _ in range(12)], "|b1")
        self.write("map.npy", chosen)
        self.check("blocks(5, 4) | window(0, 0)", lambda i, j: chosen[i // 5, j // 4] or i == j, options=("--block-map", "map.npy"))
        mask = Array([13, 13], [self.random.random() < 0.9 for _ in range(169)], "|b1")
        self.write("mask.npy", mask)
        self.check("tensor", lambda i, j: mask[i, j], options=("--mask-tensor", "mask.npy"))

    def test_the_block_is_that_of_the_kernel_by_default(self):
        plain = {**os.environ, "ATTUNE_CPU": "x86-64"}  # which every CPU has
        self.assertEqual(self.report("causal", 100, 100, env=plain)["block"], {"queries": 8, "keys": 6})
        self.assertEqual(self.report("causal", 1, 100, "--offset", 99, env=plain)["block"], {"queries": 1, "keys": 16})

    def test_the_terminal_shows_cells_where_they_fit(self):
        lines = self.run_well("explain", "causal & window(3, 0)", "--queries", 6, "--keys", 9, "--offset", 3, "--block", "2x2").splitlines()
        rows = [line.split()[1] for line in lines if re.fullmatch(r" +\d+ [.+#]+", line)]
        self.assertEqual(rows, ["".join("#" if i <= j <= i + 3 else "." for j in range(9)) for i in range(6)])
        self.assertIn("cells    24 of 54 attend (44.4 %)", lines)
        self.assertIn("blocks   15 of 2 queries x 2 keys: 3 full, 6 partial, 6 empty", lines)
        self.assertIn("skipped  40.0 % of the blocks; 40.0 % are computed and masked", lines)

    def test_the_terminal_shows_more_cells_a_character_where_they_do_not_fit(self):
        lines = self.run_well("explain", "causal", "--queries", 500, "--keys", 700, "--offset", 100).splitlines()
        rows = [line.split()[1] for line in lines if re.fullmatch(r" +\d+ [.+#]+", line)]
        height, width = map(int, re.search(r"each character is (\d+) queries x (\d+) keys", "\n".join(lines)).groups())
        self.assertEqual(rows, grid_of(lambda i, j: j <= i + 100, 500, 700, (height, width)))
        self.assertLessEqual(max(map(len, lines)), 100)

    def on_a_terminal(self, columns, **environment):
        """What the command writes to a terminal of that width."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        arguments = [command.ATTUNE, "explain", "causal", "--queries", "300", "--keys", "300"]
        with subprocess.Popen(arguments, stdout=theirs, env={**os.environ, **environment}) as process:
            os.close(theirs)
            text = b""
            try:
                while part := os.read(ours, 4096):
                    text += part
            except OSError:  # how Linux says that nobody writes any more
                pass
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        return text.decode()

    def test_colours_only_on_a_terminal_that_wants_them(self):
        self.assertNotIn("\033", self.run_well("explain", "causal", "--queries", 9, "--keys", 9))
        self.assertIn("\033[0;34m#", self.on_a_terminal(80, NO_COLOR=""))
        self.assertNotIn("\033", self.on_a_terminal(80, NO_COLOR="1"))

    def test_the_picture_keeps_within_the_terminal(self):
        for columns in (40, 80, 300):
            rows = [line for line in self.on_a_terminal(columns, NO_COLOR="1").splitlines() if re.fullmatch(r" +\d+ [.+#]+", line)]
            self.assertTrue(rows)
            self.assertLessEqual(max(map(len, rows)), min(columns, 100))

    def test_a_linked_kernel_that_runs_it(self):
        names = {kernel["name"] for kernel in json.loads(self.run_well("list", "--json"))["kernels"] if kernel["operation"] == "attention"}
        report = self.report("causal & window(3, 0)", 8, 8, "--head-dim", 64)
        self.assertIn(report["kernel"], names)
        self.assertIsNone(report["attune_add_kernel"])

    def test_a_line_that_makes_a_kernel(self):
        report = self.report("causal & dilated(2)", 8, 8, "--head-dim", 96)
        line = 'attune_add_kernel(my_attention MASK "causal & dilated(2)" HEAD_DIM 96)'
        self.assertEqual((report["kernel"], report["attune_add_kernel"]), (None, line))
        self.assertIn(line, self.run_well("explain", "causal & dilated(2)", "--queries", 8, "--keys", 8, "--head-dim", 96))

    def test_a_kernel_for_a_gpu_has_the_schedule_that_cmake_takes(self):
        cmake = (pathlib.Path(__file__).parents[2] / "cmake/AttuneKernels.cmake").read_text()
        tensor_cores = re.search(r"set\(tensor_core_widths ([ \d]+)\)", cmake).group(1).split()
        for width in (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 288):
            for dtype in ("f32", "f16", "bf16"):
                report = self.report("dilated(2)", 8, 8, "--device", "cuda", "--head-dim", width, "--dtype", dtype)
                self.assertIn(f"DEVICE cuda MASK \"dilated(2)\" HEAD_DIM {width}", report["attune_add_kernel"])
                by_tensor_cores = dtype != "f32" and str(width) in tensor_cores
                self.assertEqual(report["block"]["keys"], 64 if not by_tensor_cores else 16 if width > 192 else 32, (width, dtype))

    def test_no_kernel_for_a_gpu_takes_maps_of_blocks(self):
        self.write("map.npy", Array([2, 2], [True, False, True, True], "|b1"))
        report = self.report("blocks(4, 4)", 8, 8, "--block-map", "map.npy", "--device", "cuda")
        self.assertEqual((report["kernel"], report["attune_add_kernel"]), (None, None))
        self.assertIn("the mask has blocks", report["refusal"])

    def test_what_else_is_in_the_way(self):
        environment = {**os.environ, "ATTUNE_CPU": "sse9"}
        out = self.run_well("explain", "causal", "--queries", 8, "--keys", 8, env=environment)
        self.assertRegex(out, "kernel   none: .*ATTUNE_CPU is sse9")
        report = json.loads(self.run_well("explain", "causal", "--queries", 8, "--keys", 8, "--json", env=environment))
        self.assertEqual((report["kernel"], report["attune_add_kernel"]), (None, None))
        self.assertIn("sse9", report["refusal"])

    def area(self, root, colour):
        """Cells covered by the paths of that colour: all are runs of rectangles, M x y h w v h h -w z."""
        paths = "".join(path.get("d") for path in root.iter(f"{SVG}path") if path.get("fill") == colour)
        return sum(int(width) * int(height) for width, height in re.findall(r"M\d+ \d+h(\d+)v(\d+)h-\d+z", paths))

    def test_svg(self):
        self.run_well("explain", "causal & window(3, 0)", "--queries", 12, "--keys", 12, "--block", "4x3", "--svg", "m.svg")
        root = xml.etree.ElementTree.parse(self.folder / "m.svg").getroot()
        grid = "".join(grid_of(lambda i, j: i - 3 <= j <= i, 12, 12, (4, 3)))
        self.assertEqual(root.find(f"{SVG}title").text, "causal & window(3, 0)")
        self.assertEqual(self.area(root, "#3b82f6"), 42 + 12 * grid.count("#"))  # cells, and full blocks beneath
        self.assertEqual(self.area(root, "#f59e0b"), 12 * grid.count("+"))
        self.assertEqual(self.area(root, "#808080"), 12 * grid.count("."))
        texts = [text.text for text in root.iter(f"{SVG}text")]
        for kind, sign in (("full", "#"), ("partial", "+"), ("empty", ".")):
            self.assertIn(f"{grid.count(sign)} {kind}", texts)

    def test_svg_of_many_cells_draws_blocks(self):
        report = self.report("causal", 4096, 4096, "--svg", "m.svg")
        root = xml.etree.ElementTree.parse(self.folder / "m.svg").getroot()
        self.assertLess((self.folder / "m.svg").stat().st_size, 50_000)
        areas = [self.area(root, colour) for colour in ("#3b82f6", "#f59e0b", "#808080")]
        self.assertEqual(sum(areas), 4096 * 4096)
        queries, keys = report["block"]["queries"], report["block"]["keys"]
        self.assertLess(abs(areas[0] - report["blocks"]["full"] * queries * keys), 4096 * queries)  # the last column of blocks is narrower
        self.assertEqual(report["blocks"]["total"], -(-4096 // queries) * -(-4096 // keys))

    def test_bad_texts(self):
        for text, says in [("causl", "column 1: 'causl' isn't a mask"), ("causal & ", "column 10"), ("prefix(3.5)", "column 8"),
                           ("documents", "the mask's documents needs --documents"), ("lengths", "the mask's lengths needs --length"),
                           ("tensor & causal", "the mask's tensor needs --mask-tensor"), ("blocks(2, 2)", "the mask's blocks needs --block-map")]:
            self.refuse("explain", text, "--queries", 8, "--keys", 8, "--svg", "m.svg", says=says)
        self.refuse("explain", "causal", "--queries", 8, "--keys", 9, says=("the mask's causal names no alignment", "--offset"))

    def test_bad_numbers(self):
        for option in ("--queries", "--keys", "--head-dim"):
            for value in ("0", "-1", "x", "2147483648"):
                arguments = {"--queries": 8, "--keys": 8, option: value}
                self.refuse("explain", "causal", *(word for pair in arguments.items() for word in pair), says=f"{option} is {value}")
        for block in ("4", "0x4", "4x0", "4x", "x4", "4x4x4", "-1x4", "4 x 4", "4X4", ""):
            self.refuse("explain", "causal", "--queries", 8, "--keys", 8, f"--block={block}", says="--block")
        self.refuse("explain", "causal", "--queries", 40000, "--keys", 40000, says="1073741824 cells")
        self.refuse("explain", "causal", "--queries", 8, says="--keys")
        self.refuse("explain", "--queries", 8, "--keys", 8, says="MASK")
        self.refuse("explain", "lengths", "--queries", 8, "--keys", 8, "--length", 9, says="--length is 9; it must be 0 to M = 8")

    def test_bad_data(self):
        self.write("ids.npy", Array([7], [0] * 7, "<i4"))
        self.write("map.npy", Array([2, 2], [True] * 4, "|b1"))
        at_8 = ("--queries", 8, "--keys", 8)
        self.refuse("explain", "documents", *at_8, "--documents", "ids.npy", says="ids.npy has shape [7]; it must be [8]")
        self.refuse("explain", "causal", *at_8, "--documents", "ids.npy", says="--documents is given; the mask has no documents")
        self.refuse("explain", "documents", "--queries", 4, "--keys", 7, "--documents", "ids.npy", says="--query-documents")
        self.refuse("explain", "causal", *at_8, "--query-documents", "ids.npy", says="--documents is not")
        self.refuse("explain", "blocks(3, 3)", *at_8, "--block-map", "map.npy", says="map.npy has shape [2, 2]; it must be [3, 3]")
        self.refuse("explain", "blocks(5, 5) | blocks(6, 6)", *at_8, "--block-map", "map.npy",
                    says="the mask names blocks(5, 5) and blocks(6, 6); there is one block map, so they must agree")
        self.refuse("explain", "tensor", *at_8, "--mask-tensor", "map.npy", says="map.npy has shape [2, 2]; it must be [8, 8]")
        self.refuse("explain", "documents", *at_8, "--documents", "missing.npy", says="missing.npy")

    def test_the_file_is_written_whole_or_not_at_all(self):
        (self.folder / "m.svg").write_text("old")
        self.refuse("explain", "causl", "--queries", 8, "--keys", 8, "--svg", "m.svg", says="causl")
        self.refuse("explain", "causal", "--queries", 8, "--keys", 8, "--svg", "missing/m.svg", says="--svg")


if __name__ == "__main__":
    command.main()
