// Attacks on memory, stack, output and the end of the program.

#include "guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int malloc_until_refused(void) {
    size_t kept = 0;
    for (size_t size = 1 << 20; size >= 4096; size /= 4) {
        for (;;) {
            char *volatile block = malloc(size);
            if (block == NULL) {
                break;
            }
            memset(block, 0x5a, size);
            kept += size;
        }
    }
    holds("an absurd size is refused", malloc(SIZE_MAX / 2) == NULL);
    holds("a product that wraps is refused", calloc(SIZE_MAX / 2, 4) == NULL);
    printf("%zu KiB\n", kept / 1024);
    return 0;
}

#pragma clang diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static int descend(volatile char *above, int depth) {
    volatile char frame[64 * 1024];
    frame[0] = above[0];
    frame[sizeof frame - 1] = (char)depth;
    return descend(frame, depth + 1) + frame[sizeof frame - 1] + above[0];
}

int big_frames(void) {
    volatile char first = 1;
    printf("came back with %d\n", descend(&first, 0));
    return 0;
}

int format_bomb(void) {
    for (;;) {
        if (printf("%*d%-*s", INT32_MAX / 2, 1, INT32_MAX / 2, "x") < 0) {
            return REFUSED;
        }
    }
}

int escape_flood(void) {
    static const char escapes[] =
        "\033[2J\033[1;1H\033]0;owned\007\033[8m\033(0\r\b\b\177\233?47h\xff\xfe";
    setvbuf(stdout, NULL, _IOFBF, 65536);
    for (;;) {
        if (fwrite(escapes, 1, sizeof escapes, stdout) != sizeof escapes) {
            return REFUSED;
        }
    }
}

static void never(void) {
    for (volatile int turns = 0;; turns++) {
    }
}

int exit_handlers(void) {
    atexit(never);
    exit(0);
}
