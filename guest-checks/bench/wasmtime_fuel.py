"""Times computing in wasmtime, with and without fuel.

wasmtime_fuel.py MODULE

Reads lines "EXPORT COUNT" and "EXPORT-metered COUNT"; for each it calls the export with the
count, in an engine that meters fuel or in one that does not, and prints the nanoseconds of
the call. Deadlines are looked at in both. Needs the package `wasmtime` of PyPI.
"""

import sys
import time

import wasmtime

METERED = "-metered"


def start(path: str, fuel: bool) -> tuple[wasmtime.Store, wasmtime.Instance]:
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.consume_fuel = fuel
    engine = wasmtime.Engine(config)
    store = wasmtime.Store(engine)
    store.set_epoch_deadline(1)
    instance = wasmtime.Instance(store, wasmtime.Module.from_file(engine, path), [])
    return store, instance


def main() -> None:
    (path,) = sys.argv[1:]
    plain = start(path, fuel=False)
    metered = start(path, fuel=True)
    for line in sys.stdin:
        name, count = line.split()
        store, instance = metered if name.endswith(METERED) else plain
        if store is metered[0]:
            store.set_fuel(1 << 60)
        call = instance.exports(store)[name.removesuffix(METERED)]
        before = time.perf_counter_ns()
        call(store, int(count))
        print(time.perf_counter_ns() - before, flush=True)


main()
