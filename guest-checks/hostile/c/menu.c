// The list of sub-commands and the way in. `list` prints each with what it does.

#include "guest.h"

#include <stdio.h>
#include <string.h>

struct attack {
    const char *name;
    const char *about;
    int (*run)(void);
};

static const struct attack attacks[] = {
    {"malloc", "allocates and touches memory until malloc returns null, exits 0",
     malloc_until_refused},
    {"big-frames", "recurses without end with frames of 64 KiB", big_frames},
    {"format-bomb", "prints numbers padded to 2 GiB by one short format", format_bomb},
    {"escape-flood", "prints terminal escapes without end of line for ever", escape_flood},
    {"exit-handlers", "exits into a handler that never returns", exit_handlers},
    {"arguments", "asks for its arguments with buffers that are too small or nowhere",
     arguments},
    {"environment", "asks for its environment with buffers that are too small or nowhere",
     environment},
    {"clocks", "asks for clocks that do not exist, and watches time go on", clocks},
    {"entropy", "asks for randomness in odd amounts", entropy},
    {"closed-stdio", "closes the standard streams and lets files take their numbers",
     closed_stdio},
    {"renumbered-stdio", "puts files and folders in place of the standard streams",
     renumbered_stdio},
    {"renumber-leak", "renumbers 100,000 descriptors onto one", renumber_leak},
    {"renumber-exhaustion", "renumbers to numbers that were never opened",
     renumber_exhaustion},
    {"lost-rights", "opens with every right and takes back rights that were given up",
     lost_rights},
    {"vectors-over-vectors", "reads and writes with vectors that lie on each other",
     vectors_over_vectors},
    {"hostile-paths", "passes paths with NUL, without UTF-8, empty, absolute and very long",
     hostile_paths},
    {"far-offsets", "seeks, writes, allocates and truncates at the ends of the numbers",
     far_offsets},
    {"hostile-cookies", "lists folders from places that were never given out",
     hostile_cookies},
    {"changing-folder", "deletes what it lists while it lists", changing_folder},
    {"absolute-links", "makes links with absolute, empty and odd targets and follows them",
     absolute_links},
    {"link-fan-out", "follows links of links that double at each step", link_fan_out},
    {"odd-times", "sets times at the ends of the numbers", odd_times},
};

int main(int count, char **values) {
    const char *wanted = count > 1 ? values[1] : "";
    const size_t known = sizeof attacks / sizeof attacks[0];
    if (strcmp(wanted, "list") == 0) {
        for (size_t index = 0; index < known; index++) {
            printf("%s\t%s\n", attacks[index].name, attacks[index].about);
        }
        return 0;
    }
    for (size_t index = 0; index < known; index++) {
        if (strcmp(wanted, attacks[index].name) == 0) {
            return attacks[index].run();
        }
    }
    fprintf(stderr, "hostile-c: no such sub-command; `list` prints them\n");
    return 2;
}

static int failures;

void expect(const char *what, int errno_got, int errno_wanted) {
    const int wrong = errno_got != errno_wanted;
    failures += wrong;
    printf("%s: errno %d%s\n", what, errno_got, wrong ? " IS WRONG" : "");
    if (wrong) {
        printf("%s: wanted %d\n", what, errno_wanted);
    }
}

void holds(const char *what, int truth) {
    failures += !truth;
    printf("%s: %s\n", what, truth ? "yes" : "NO");
}

int verdict(void) {
    return failures == 0 ? REFUSED : 0;
}

__wasi_errno_t open_raw(int folder, const char *path, unsigned lookup, unsigned flags,
                        uint64_t rights, int *opened) {
    __wasi_fd_t fd = 0;
    const __wasi_errno_t errno_got = __wasi_path_open(
        folder, lookup, path, flags, rights, rights, 0, &fd);
    *opened = errno_got == 0 ? (int)fd : -1;
    return errno_got;
}
