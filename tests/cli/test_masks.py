"""attune run attention --mask: what the text means, and what is refused."""
import command
import oracle
from npy import Array

QUERIES, KEYS = 4, 6
LAST = KEYS - QUERIES  # the key beneath query 0 when aligned at the bottom right


class Masks(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.q = self.write("q.npy", self.normal(1, 1, QUERIES, 8))
        self.k = self.write("k.npy", self.normal(1, 1, KEYS, 8))
        self.v = self.write("v.npy", self.normal(1, 1, KEYS, 8))

    def files(self, *options):
        return ("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", *options)

    def check(self, text, mask, *options):
        with self.subTest(text):
            self.run_well(*self.files("--mask", text, *options))
            self.assert_close("o.npy", oracle.attention(self.q, self.k, self.v, mask=lambda b, h, i, j: mask(i, j))[0])

    def test_terms(self):
        self.check("none", lambda i, j: True)
        self.check("causal(top_left)", lambda i, j: j <= i)
        self.check("causal(bottom_right)", lambda i, j: j <= i + LAST)
        self.check("window(1, 2, top_left)", lambda i, j: i - 1 <= j <= i + 2)
        self.check("window(3,0,bottom_right)", lambda i, j: i + LAST - 3 <= j <= i + LAST)
        self.check("window(-1, 0, top_left)", lambda i, j: j <= i)
        self.check("prefix(2)", lambda i, j: j < 2)

    def test_operators(self):
        self.check("!causal(top_left)", lambda i, j: j > i)
        self.check("causal(bottom_right) & window(1, 1, bottom_right)", lambda i, j: i + LAST - 1 <= j <= i + LAST)
        self.check("causal(top_left) | prefix(3)", lambda i, j: j <= i or j < 3)
        self.check("prefix(1) | causal(top_left) & !prefix(2)", lambda i, j: j < 1 or (j <= i and j >= 2))
        self.check("(prefix(1) | causal(top_left)) & !prefix(2)", lambda i, j: 2 <= j <= i)

    def test_a_given_offset_holds_for_terms_that_name_no_alignment(self):
        self.check("causal", lambda i, j: j <= i + 1, "--offset", "1")
        self.check("causal | causal(top_left)", lambda i, j: j <= i - 1 or j <= i, "--offset", "-1")

    def test_an_alignment_is_needed_where_queries_and_keys_differ(self):
        self.refuse(*self.files("--mask", "causal"), says="causal")
        self.refuse(*self.files("--mask", "window(2, 0)"), says="window")
        self.refuse(*self.files("--mask", "causal(top_left) & window(2, 0)"), says="window")

    def test_no_alignment_is_needed_where_they_are_equal(self):
        self.k = self.write("k.npy", self.normal(1, 1, QUERIES, 8))
        self.v = self.write("v.npy", self.normal(1, 1, QUERIES, 8))
        self.check("causal & window(1, 0)", lambda i, j: i - 1 <= j <= i)

    def test_text_that_is_no_mask(self):
        for text in ("", "casual", "causal &", "causal causal", "window(1)", "window(-2, 0, top_left)", "none & causal(top_left)",
                     "prefix(P)", "(causal(top_left)", "causal(middle)", "causal(top_left) && prefix(1)"):
            with self.subTest(text):
                self.refuse(*self.files("--mask", text))


if __name__ == "__main__":
    command.main()
