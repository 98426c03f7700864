// Questions about the host: arguments, environment, clocks, randomness.

#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The address of the last `bytes` bytes of memory.
static uint8_t *last(size_t bytes) {
    return (uint8_t *)((size_t)__builtin_wasm_memory_size(0) * 65536 - bytes);
}

int arguments(void) {
    __wasi_size_t count = 0;
    __wasi_size_t bytes = 0;
    expect("sizes", __wasi_args_sizes_get(&count, &bytes), 0);
    holds("two arguments", count == 2);
    uint8_t *pointers[8];
    uint8_t text[256];
    expect("with room", __wasi_args_get(pointers, text), 0);
    holds("ends in NUL", text[bytes - 1] == 0);
    expect("text past the end", __wasi_args_get(pointers, last(4)), EFAULT);
    expect("pointers past the end", __wasi_args_get((uint8_t **)last(4), text), EFAULT);
    expect("text nowhere", __wasi_args_get(pointers, (uint8_t *)UINTPTR_MAX), EFAULT);
    expect("sizes nowhere",
           __wasi_args_sizes_get((__wasi_size_t *)(UINTPTR_MAX - 1), &bytes), EFAULT);
    // Pointers and text on the same bytes: the guest's own mess, and nothing else.
    (void)!__wasi_args_get((uint8_t **)text, text);
    return verdict();
}

int environment(void) {
    __wasi_size_t count = 99;
    __wasi_size_t bytes = 99;
    expect("sizes", __wasi_environ_sizes_get(&count, &bytes), 0);
    holds("one variable", count == 1);
    uint8_t *pointers[8];
    expect("text past the end", __wasi_environ_get(pointers, last(1)), EFAULT);
    expect("pointers past the end", __wasi_environ_get((uint8_t **)last(2), last(64)),
           EFAULT);
    static const char *const secrets[] = {"HOME", "PATH", "USER", "HOSTNAME", "PWD",
                                          "LD_PRELOAD", "CI", "LANG"};
    for (size_t index = 0; index < sizeof secrets / sizeof secrets[0]; index++) {
        holds(secrets[index], getenv(secrets[index]) == NULL);
    }
    char name[64] = "";
    holds("no host name", gethostname(name, sizeof name) != 0 || strcmp(name, "(none)") == 0
                              || name[0] == 0);
    return verdict();
}

int clocks(void) {
    __wasi_timestamp_t time = 0;
    for (unsigned id = 4; id < 64; id++) {
        if (__wasi_clock_time_get(id, 0, &time) != EINVAL
            || __wasi_clock_res_get(id, &time) != EINVAL) {
            holds("an unknown clock is refused", 0);
        }
    }
    expect("the largest id", __wasi_clock_time_get(UINT32_MAX, 0, &time), EINVAL);
    expect("time nowhere",
           __wasi_clock_time_get(0, 0, (__wasi_timestamp_t *)(UINTPTR_MAX - 3)), EFAULT);
    __wasi_timestamp_t before = 0;
    for (int turn = 0; turn < 1000; turn++) {
        (void)!__wasi_clock_time_get(1, UINT64_MAX, &time);
        if (time < before) {
            holds("time goes on", 0);
        }
        before = time;
    }
    const struct timespec day = {.tv_sec = 86400, .tv_nsec = 0};
    holds("sleeps", nanosleep(&day, NULL) == 0);
    (void)!__wasi_clock_time_get(1, 0, &time);
    holds("a day passed", time - before >= UINT64_C(86400000000000));
    holds("not much more", time - before < UINT64_C(86401000000000));
    return verdict();
}

int entropy(void) {
    static uint8_t bytes[4096];
    holds("256 bytes", getentropy(bytes, 256) == 0);
    holds("257 bytes are refused", getentropy(bytes, 257) != 0);
    expect("none", __wasi_random_get(bytes, 0), 0);
    expect("none at the end of memory", __wasi_random_get(last(0), 0), 0);
    expect("one past the end", __wasi_random_get(last(0), 1), EFAULT);
    expect("all there is and more", __wasi_random_get(bytes, UINT32_MAX), EFAULT);
    int differing = 0;
    for (size_t index = 1; index < 256; index++) {
        differing += bytes[index] != bytes[0];
    }
    holds("bytes differ", differing > 128);
    return verdict();
}
