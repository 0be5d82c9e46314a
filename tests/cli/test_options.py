"""Words and numbers on the command line that are refused; help and version."""
import command

ATTENTION = ("run", "attention", "x.npy", "x.npy", "x.npy", "-o", "o.npy")
SOFTMAX = ("run", "softmax", "x.npy", "-o", "o.npy")
ROTARY = ("run", "rotary", "x.npy", "-o", "o.npy")
SINUSOIDAL = ("run", "sinusoidal", "-o", "o.npy")
COMMANDS = [(), ("list",), ("run",), ("run", "attention"), ("run", "softmax"), ("run", "rotary"), ("run", "sinusoidal"), ("explain",), ("bench",)]

NOT_NUMBERS = ("", "x", "nan", "NaN", "inf", "-inf", "infinity", "1e999", "-1e999", "1,5", "1.0x", " 1", "1 ", "0x10", "--1", "+-1", "1e")
NOT_FLOATS = ("1e39", "-1e39", "1e-60")
NOT_INTEGERS = ("", "x", "nan", "1.5", "1e3", " 1", "1 ", "0x10", "--1", "+-1", "99999999999999999999", "-99999999999999999999")


class Options(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("x.npy", self.normal(3, 8))

    def deny(self, arguments, option, values):
        for value in values:
            with self.subTest((arguments[:2], option, value)):
                self.refuse(*arguments, f"{option}={value}" if value else option, *([] if value else [""]), says=(option, f"{option} is {value}" if value else ""))

    def test_numbers(self):
        self.deny(ATTENTION, "--scale", NOT_NUMBERS + NOT_FLOATS)
        self.deny(ATTENTION, "--softcap", NOT_NUMBERS + NOT_FLOATS + ("-1", "-1e-3"))
        for arguments in (ATTENTION, SOFTMAX):
            self.deny(arguments, "--temperature", NOT_NUMBERS + NOT_FLOATS + ("0", "-1", "-0"))
        for arguments in (ROTARY, SINUSOIDAL):
            self.deny(arguments, "--base", NOT_NUMBERS + ("0", "-10000"))

    def test_device(self):
        for arguments in (ATTENTION, SOFTMAX, ROTARY, SINUSOIDAL, ("bench",), ("list",)):
            self.deny(arguments, "--device", ("gpu", "CUDA", "0"))
        if "No GPU" not in self.run_well("list"):
            self.skipTest("there is a GPU")
        tokens = ("--tokens", 3, "--dim", 8)
        for arguments in (ATTENTION, SOFTMAX, ROTARY, SINUSOIDAL + tokens, ("bench",)):
            self.refuse(*arguments, "--device", "cuda", says="device cuda")

    def test_integers(self):
        for arguments in (ATTENTION, SOFTMAX, ROTARY, SINUSOIDAL, ("bench",)):
            self.deny(arguments, "--threads", NOT_INTEGERS + ("0", "-1", "1025"))
        for arguments in (ROTARY, SINUSOIDAL):
            self.deny(arguments, "--offset", NOT_INTEGERS)
        self.deny(ROTARY, "--rotary-dim", NOT_INTEGERS + ("-2",))
        self.deny(SINUSOIDAL, "--tokens", NOT_INTEGERS + ("-1", "2147483648"))
        self.deny(SINUSOIDAL, "--dim", NOT_INTEGERS + ("0", "-1", "2147483648"))

    def test_an_offset_is_an_integer_or_a_file(self):
        for value in ("1.5", "1e3"):
            self.refuse(*ATTENTION, "--offset", value, says=f"--offset is {value}; it must be an integer")
        for value in ("x", "missing.npy"):
            self.refuse(*ATTENTION, "--offset", value, says=value)
        for value in ("99999999999999999999", "-99999999999999999999"):
            self.refuse(*ATTENTION, "--offset", value, says=("--offset", value))

    def test_names(self):
        self.deny(ROTARY, "--layout", ("x", "Half", "halfs"))
        for arguments in (ATTENTION, SOFTMAX, ROTARY, (*SINUSOIDAL, "--tokens", "3", "--dim", "4")):
            self.refuse(*arguments, "--schedule", "nonsense", says="nonsense")
            self.refuse(*arguments, "--schedule", "", says="--schedule")

    def test_words_that_mean_nothing(self):
        for arguments in COMMANDS:
            self.refuse(*arguments, "--nonsense", says="--nonsense")
            self.refuse(*arguments, "-z", says="-z")
        for arguments in (("nonsense",), ("run", "nonsense"), ("list", "nonsense"), (*SOFTMAX, "nonsense"), (*ATTENTION, "nonsense"), ("bench", "nonsense")):
            self.refuse(*arguments, says="nonsense")
        self.refuse("rum", says="rum is not a command of attune; there are: list, run, explain, bench, trace")
        self.refuse("run", "softmxa", says=("softmxa is not a command of attune run", "softmax"))

    def test_words_that_are_missing(self):
        for arguments, missing in [((), "command"), (("run",), "command"), (ATTENTION[:2], "Q"), (ATTENTION[:3], "K"), (ATTENTION[:4], "V"),
                                   (ATTENTION[:5], "--output"), (SOFTMAX[:2], "X"), (SOFTMAX[:3], "--output"), (ROTARY[:2], "X"), (ROTARY[:3], "--output")]:
            self.refuse(*arguments, says=missing)
        for option in ("--scale", "--mask", "--threads", "--lse"):
            self.refuse(*ATTENTION, option, says=option)

    def test_options_given_twice(self):
        for option, value in [("--scale", "1"), ("--mask", "none"), ("-o", "p.npy"), ("--threads", "1"), ("--lse", "l.npy")]:
            self.refuse(*ATTENTION, option, value, option, value)

    def test_flags_take_no_value(self):
        self.refuse(*SOFTMAX, "--log=3", says="log")
        self.refuse("list", "--json=yes", says="json")

    def test_help_and_version(self):
        for arguments in COMMANDS:
            text = self.run_well(*arguments, "--help")
            self.assertIn("Usage: attune", text)
            self.assertEqual(text, self.run_well(*arguments, "-h"))
        self.assertRegex(self.run_well("--version"), r"\Aattune \d+\.\d+\.\d+\n\Z")


if __name__ == "__main__":
    command.main()
