"""attune trace: the page's cells against PyTorch's weights of attention, as they are written and as Chromium draws them."""
import pathlib
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

import command
import npy
import png

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS, GOLDEN = ROOT / "examples/gpt/models", ROOT / "tests/gpt/golden"
PROMPT = "A kernel is a C function in Halide's calling convention"  # of the golden files: examples/gpt/train.py
SVG = "{http://www.w3.org/2000/svg}"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Panel:
    """A head's drawing: where its cells are in pixels, their opacities, and which are masked."""
    def __init__(self, group):
        self.layer, self.head = int(group.get("data-layer")), int(group.get("data-head"))
        self.x, self.y, self.cell = map(float, re.fullmatch(r"translate\((\S+) (\S+)\) scale\((\S+)\)", group.get("transform")).groups())
        self.opacity, self.titles = {}, {}
        for rect in group.iter(SVG + "rect"):
            if rect.get("class") != "frame":
                at = int(rect.get("y")), int(rect.get("x"))
                self.opacity[at], self.titles[at] = float(rect.get("fill-opacity")), rect.find(SVG + "title").text
        runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", group.find(SVG + "path").get("d"))
        self.masked = {(int(y), int(x) + i) for x, y, width in runs for i in range(int(width))}
        self.labels = [text.text for text in group.iter(SVG + "text")]

    def middle(self, row, column):
        return int(self.x + (column + 0.5) * self.cell), int(self.y + (row + 0.5) * self.cell)


class Trace(command.CommandTest):
    def trace(self, family, prompt=PROMPT):
        """The page's text, and its panels."""
        self.assertEqual(self.run_well("trace", MODELS / f"{family}-tiny", "--prompt", prompt, "-o", "page.html"), "")
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        svg = xml.etree.ElementTree.fromstring(page[page.index("<svg"): page.index("</svg>") + 6])
        self.size = f"{round(float(svg.get('width')))},{round(float(svg.get('height')))}"
        return page, [Panel(group) for group in svg.iter(SVG + "g")]

    def test_cells_are_the_weights(self):
        for family in ("gpt2", "llama"):
            right = npy.read(GOLDEN / f"{family}_weights.npy")
            layers, heads, count, _ = right.shape
            page, panels = self.trace(family)
            self.assertEqual([(p.layer, p.head) for p in panels], [(l, h) for l in range(layers) for h in range(heads)])
            for panel in panels:
                self.assertEqual(panel.masked, {(i, j) for i in range(count) for j in range(i + 1, count)})
                for i in range(count):
                    for j in range(count):
                        weight = right[panel.layer, panel.head, i, j]
                        drawn = panel.opacity.get((i, j), 0.0)
                        self.assertLess(abs(drawn - weight), 6e-4 if (i, j) in panel.opacity else 2.1e-3, (family, panel.layer, panel.head, i, j))
                self.assertTrue(panel.masked.isdisjoint(panel.opacity))
            self.assertNotRegex(page.replace("http://www.w3.org/2000/svg", ""), r"https?:|src=|@import|url\(")

    def test_tokens_are_shown(self):
        _, panels = self.trace("gpt2", "a <b>\n&\x01é")
        labels = "".join(panels[0].labels[::2]).replace("␣", " ")
        self.assertEqual(labels, "a <b>⏎&\\x01\\xc3\\xa9")  # é is two tokens, neither of them a character
        self.assertEqual(panels[0].titles[0, 0], "a → a: 1.000")
        _, panels = self.trace("llama", "é")
        self.assertEqual(panels[0].labels[0], "#1")  # <s>

    def test_a_long_text(self):
        _, panels = self.trace("llama", "attention " * 60)
        self.assertEqual(panels[0].labels, [])  # they would be too small to read
        self.assertGreater(len(panels[0].masked), 60 * 59 / 2)

    @unittest.skipUnless(CHROMIUM, "there is no chromium")
    def test_chromium_draws_the_cells(self):
        _, panels = self.trace("llama")
        count = npy.read(GOLDEN / "llama_weights.npy").shape[3]
        shot = self.folder / "shot.png"
        subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
                        f"--user-data-dir={self.folder / 'profile'}", f"--window-size={self.size}", f"--screenshot={shot}",
                        (self.folder / "page.html").as_uri()], capture_output=True, timeout=180, check=True)
        picture = png.read(shot)
        for panel in panels:
            for i in range(count):
                for j in range(count):
                    x, y = panel.middle(i, j)
                    opacity = panel.opacity.get((i, j), 0.0)
                    blue = [255 + opacity * (part - 255) for part in (0x1d, 0x4e, 0xd8)]
                    right = (0xdd, 0xdd, 0xdd) if (i, j) in panel.masked else blue
                    apart = max(abs(a - b) for a, b in zip(picture[y][x], right))
                    self.assertLessEqual(apart, 2, (panel.layer, panel.head, i, j, picture[y][x], right))

    def test_what_is_refused(self):
        model = MODELS / "gpt2-tiny"
        self.refuse("trace", model, "--prompt", "x " * 300, "-o", "p.html", says="--prompt has 6")
        self.refuse("trace", "nowhere", "--prompt", "x", "-o", "p.html", says="can't be opened: No such file")
        self.refuse("trace", model, "-o", "p.html", says="--prompt")
        self.refuse("trace", model, "--prompt", "x", "-o", "no/p.html", says="no/p.html")


if __name__ == "__main__":
    command.main()
