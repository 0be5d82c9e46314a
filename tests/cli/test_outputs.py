"""Output files: they appear whole or not at all, and nothing else is touched."""
import os
import pathlib
import resource
import signal
import stat
import subprocess
import unittest
import unittest.mock

import command
import oracle
from npy import Array


class Outputs(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.x = self.write("x.npy", self.normal(3, 8))
        self.files = ("run", "attention", "x.npy", "x.npy", "x.npy")

    def softmax_of_x(self):
        return Array((3, 8), [y for row in range(3) for y in oracle.softmax_row(self.x.values[8 * row:8 * row + 8])[0]])

    def test_an_input_may_be_the_output(self):
        expected = self.softmax_of_x()
        self.run_well("run", "softmax", "x.npy", "-o", "x.npy")
        self.assert_close("x.npy", expected)

    def test_an_existing_file_is_replaced_and_keeps_its_mode(self):
        (self.folder / "y.npy").write_bytes(b"old")
        (self.folder / "y.npy").chmod(0o640)
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy")
        self.assert_close("y.npy", self.softmax_of_x())
        self.assertEqual(stat.S_IMODE((self.folder / "y.npy").stat().st_mode), 0o640)

    def test_a_new_file_has_the_usual_mode(self):
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy", umask=0o027)
        self.assertEqual(stat.S_IMODE((self.folder / "y.npy").stat().st_mode), 0o640)

    def test_a_symbolic_link_is_followed(self):
        (self.folder / "there").mkdir()
        (self.folder / "there" / "y.npy").write_bytes(b"old")
        (self.folder / "link.npy").symlink_to("there/y.npy")
        self.run_well("run", "softmax", "x.npy", "-o", "link.npy")
        self.assertTrue((self.folder / "link.npy").is_symlink())
        self.assert_close("there/y.npy", self.softmax_of_x())

    def test_a_symbolic_link_to_nothing_names_a_new_file(self):
        (self.folder / "link.npy").symlink_to("new.npy")
        self.run_well("run", "softmax", "x.npy", "-o", "link.npy")
        self.assertTrue((self.folder / "link.npy").is_symlink())
        self.assert_close("new.npy", self.softmax_of_x())
        (self.folder / "round.npy").symlink_to("round.npy")
        self.refuse("run", "softmax", "x.npy", "-o", "round.npy", says="round.npy")

    def test_a_name_as_long_as_names_can_be(self):
        name = "n" * os.pathconf(self.folder, "PC_NAME_MAX")
        self.run_well("run", "softmax", "x.npy", "-o", name)
        self.assert_close(name, self.softmax_of_x())
        self.refuse("run", "softmax", "x.npy", "-o", name + "n", says="-o")

    def test_places_no_file_can_be(self):
        (self.folder / "folder").mkdir()
        for path in ("missing/y.npy", "x.npy/y.npy", "folder", "folder/", "new/", "/dev/null", "/dev/full", "", "/", ".", "n" * 300):
            with self.subTest(path):
                self.refuse("run", "softmax", "x.npy", "-o", path, says="-o" if path in ("missing/y.npy", "folder") else ())
                self.refuse(*self.files, "-o", "o.npy", "--lse", path)

    def test_the_same_file_twice(self):
        (self.folder / "link.npy").symlink_to("o.npy")
        for other in ("o.npy", "./o.npy", "link.npy", self.folder / "o.npy"):
            self.refuse(*self.files, "-o", "o.npy", "--lse", other, says=("--lse", "-o"))
        self.refuse(*self.files, "-o", "o.npy", "--lse", "l.npy", "--weights", "l.npy", says=("--weights", "--lse"))

    def test_an_error_of_the_last_output_leaves_the_first(self):
        (self.folder / "o.npy").write_bytes(b"old")
        self.refuse(*self.files, "-o", "o.npy", "--weights", "missing/w.npy", says="--weights")
        self.refuse(*self.files, "-o", "o.npy", "--mask", "nonsense")
        self.refuse(*self.files, "-o", "o.npy", "--schedule", "nonsense", says="nonsense")

    def test_a_disk_that_fills_up(self):
        (self.folder / "o.npy").write_bytes(b"old")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        self.write("x.npy", self.normal(16, 1))  # the weights are 1 KiB, the output and log-sum-exp less
        self.refuse(*self.files, "-o", "o.npy", "--lse", "l.npy", "--weights", "w.npy", says="w.npy", code=1, preexec_fn=limit)

    @unittest.skipUnless(os.geteuid() == 0, "takes other users")
    def test_an_output_that_may_not_be_replaced_leaves_those_before_it(self):
        # In such a folder files may be written by all, but replaced by their owner alone.
        shared, nobody = self.folder / "shared", 65534
        shared.mkdir(), shared.chmod(0o1777), self.folder.chmod(0o755)
        for name, owner in (("l.npy", nobody), ("w.npy", 0)):
            (shared / name).write_bytes(b"old")
            (shared / name).chmod(0o666), os.chown(shared / name, owner, owner)
        program = self.folder / "attune"  # which they may not reach where it is
        program.write_bytes(pathlib.Path(command.ATTUNE).read_bytes()), program.chmod(0o755)
        outputs = ("-o", "shared/o.npy", "--lse", "shared/l.npy", "--weights", "shared/w.npy")
        with unittest.mock.patch.object(command, "ATTUNE", str(program)):
            self.refuse(*self.files, *outputs, says="shared/w.npy can't be written", user=nobody, group=nobody)
            os.chown(shared / "w.npy", nobody, nobody)
            self.run_well(*self.files, *outputs, user=nobody, group=nobody)
        self.assertEqual({path.name for path in shared.iterdir()}, {"o.npy", "l.npy", "w.npy"})

    def test_nothing_is_left_of_what_is_interrupted(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_WRONLY))
        except OSError:
            self.skipTest("this file system has no files without a name")
        (self.folder / "y.npy").write_bytes(b"old")
        self.write("x.npy", self.normal(6000, 4))  # the weights are 144 MB
        before = self.contents()
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            arguments = (command.ATTUNE, *self.files, "-o", "y.npy", "--lse", "l.npy", "--weights", "w.npy")
            with subprocess.Popen(arguments, cwd=self.folder) as process:
                while not any(size > 1000000 for size in self.sizes_of_nameless_files(process)):
                    self.assertIsNone(process.poll(), "it ended before it was seen to write")
                process.send_signal(sign)
            self.assertEqual(process.returncode, -sign)
            self.assertEqual(self.contents(), before)

    def sizes_of_nameless_files(self, process):
        for link in pathlib.Path(f"/proc/{process.pid}/fd").glob("*"):
            try:
                if os.readlink(link).startswith(str(self.folder.resolve())) and not link.is_dir(): yield link.stat().st_size
            except OSError:  # it was closed in between
                pass

    def test_permissions(self):
        for path in ("/proc/y.npy", "/sys/y.npy"):
            self.refuse("run", "softmax", "x.npy", "-o", path, says=path)
            self.refuse(*self.files, "-o", path, "--schedule", "nonsense", says=path)
        (self.folder / "y.npy").write_bytes(b"old")
        (self.folder / "y.npy").chmod(0o444)
        if os.geteuid() == 0:  # who may write anywhere
            self.run_well("run", "softmax", "x.npy", "-o", "y.npy")
        else:
            self.refuse("run", "softmax", "x.npy", "-o", "y.npy", says="read-only")

    def test_standard_output_that_fills_up(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([command.ATTUNE, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "attune: standard output could not be written in full\n"))

    def test_standard_error_that_fills_up(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([command.ATTUNE, "nosuch"], stderr=full).returncode, 2)


if __name__ == "__main__":
    command.main()
