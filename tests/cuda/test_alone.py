"""Programs for machines with a GPU need nothing but the C library, and fit in what can be taken there: test_alone.py READELF PROGRAM..."""
import pathlib
import re
import subprocess
import sys

C_LIBRARY = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so\.\d+")
MOST_BYTES = 64 << 20

readelf, *programs = sys.argv[1:]
faults = []
for program in programs:
    listed = subprocess.run([readelf, "--dynamic", program], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listed)
    if not needed:
        faults.append(f"{program} needs no library at all, by {readelf}")
    faults += [f"{program} needs {library}" for library in needed if not C_LIBRARY.fullmatch(library)]
    size = pathlib.Path(program).stat().st_size
    if size > MOST_BYTES:
        faults.append(f"{program} has {size} bytes; the limit is {MOST_BYTES}")
sys.exit("\n".join(faults) or None)
