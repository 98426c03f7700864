"""Times calls to the filesystem from inside a guest, in wasmtime's own WASI.

wasmtime_calls.py MODULE FOLDER

The folder is granted to the guest as it is on the host. Reads lines "KIND COUNT"; for each
it runs the module with these two as arguments and prints the nanoseconds of its run. Needs
the package `wasmtime` of PyPI.
"""

import sys
import time

import wasmtime


def main() -> None:
    path, folder = sys.argv[1:]
    engine = wasmtime.Engine()
    module = wasmtime.Module.from_file(engine, path)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    for line in sys.stdin:
        store = wasmtime.Store(engine)
        config = wasmtime.WasiConfig()
        config.argv = ["calls", *line.split()]
        config.inherit_stderr()
        config.preopen_dir(folder, "/repo")
        store.set_wasi(config)
        instance = linker.instantiate(store, module)
        start = instance.exports(store)["_start"]
        before = time.perf_counter_ns()
        start(store)
        print(time.perf_counter_ns() - before, flush=True)


main()
