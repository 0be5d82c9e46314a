"""attune run cache-write: new tokens land where they should, whatever the axis, the starts and the type."""

import command
from npy import Array


def written(cache, update, axis, starts):
    """cache[b, ..., (starts[b] + t) mod capacity, ...] = update[b, ..., t, ...]"""
    result = dict(zip(cache.indices(), cache.values, strict=True))
    for index in update.indices():
        place = list(index)
        place[axis] = (starts[index[0]] + index[axis]) % cache.shape[axis]
        result[tuple(place)] = update[index]
    return list(result.values())


class CacheWrite(command.CommandTest):
    def check(self, cache, update, *options, axis=-2, starts=None):
        self.write("cache.npy", cache)
        self.write("update.npy", update)
        if starts:
            self.write("starts.npy", Array((len(starts),), starts, "<i8"))
            options += ("--starts", "starts.npy")
        self.run_well("run", "cache-write", "cache.npy", "update.npy", "-o", "out.npy", *options)
        out = self.read("out.npy")
        self.assertEqual((out.shape, out.descr), (cache.shape, cache.descr))
        self.assertEqual(out.values, written(cache, update, axis % len(cache.shape), starts or [0] * cache.shape[0]))
        self.assertEqual(self.read("cache.npy").values, cache.values)

    def test_starts_and_axes(self):
        cache = self.normal(2, 3, 5, 4)
        self.check(cache, self.normal(2, 3, 2, 4))
        self.check(cache, self.normal(2, 3, 2, 4), starts=[3, 1])
        self.check(cache, self.normal(2, 1, 5, 4), "--axis", "1", axis=1, starts=[2, 0])
        self.check(cache, self.normal(2, 3, 5, 3), "--axis", "-1", axis=-1, starts=[0, 1])
        self.check(cache, self.normal(2, 3, 0, 4))

    def test_circular(self):
        self.check(self.normal(2, 3, 5, 4), self.normal(2, 3, 3, 4), "--circular", starts=[4, 13])

    def test_types(self):
        for descr, values in {"<i4": [1, -2, 3, 4], "<i8": [1 << 40, 2, 3, 4], "|b1": [True, False, True, True], "<f2": [0.5, 1, -2, 4],
                              "|i1": [1, -2, 127, -128], "<u2": [0x3F80, 1, 0xFFFF, 7]}.items():
            self.check(Array((1, 2, 2), values, descr), Array((1, 1, 2), values[2:], descr), starts=[1])

    def test_bad_files(self):
        def refuse(cache, update, *options, starts=Array((2,), [0, 0], "<i4"), says):
            self.write("cache.npy", cache)
            self.write("update.npy", update)
            self.write("starts.npy", starts)
            self.refuse("run", "cache-write", "cache.npy", "update.npy", "-o", "out.npy", "--starts", "starts.npy", *options, says=says)

        cache, update = self.normal(2, 5, 4), self.normal(2, 2, 4)
        refuse(self.normal(5), self.normal(5), says=("cache.npy", "rank 1", "2 to 8"))
        refuse(cache, self.normal(2, 4), says=("update.npy", "rank 2", "3"))
        refuse(cache, Array((2, 2, 4), range(16), "<i4"), says=("update.npy", "<i4", "<f4"))
        refuse(cache, self.normal(2, 6, 4), says=("update.extent[1]", "6", "0 to 5"))
        refuse(cache, update, starts=Array((2,), [0, 4], "<i4"), says=("starts[1]", "4", "0 to 3"))
        refuse(cache, update, starts=Array((2, 1), [0, 0], "<i4"), says=("starts.npy", "rank 2", "1"))
        refuse(cache, update, starts=Array((3,), [0, 0, 0], "<i4"), says=("starts.extent[0]", "3", "2"))
        refuse(cache, update, "--axis", "0", says=("axis is 0", "1 to 2"))
        refuse(cache, update, "--axis", "3000000000", says=("--axis", "3000000000"))


if __name__ == "__main__":
    command.main()
