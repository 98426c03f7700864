// Attacks on the table of descriptors: closed and renumbered streams, rights, vectors.

#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALL_RIGHTS ((UINT64_C(1) << 30) - 1)
#define READ_RIGHTS (__WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_SEEK | __WASI_RIGHTS_FD_READDIR)

static int write_to(int fd) {
    const __wasi_ciovec_t vector = {(const uint8_t *)"LEAK", 4};
    __wasi_size_t written = 0;
    return __wasi_fd_write(fd, &vector, 1, &written);
}

// Says nothing on the standard streams, so that the host can see that nothing came.
int closed_stdio(void) {
    int failures = 0;
    for (int fd = 0; fd < 3; fd++) {
        failures += __wasi_fd_close(fd) != 0;
        failures += __wasi_fd_close(fd) != EBADF;
    }
    failures += printf("LEAK\n") >= 0 && fflush(stdout) == 0;
    // The lowest free numbers are those of the streams.
    for (int fd = 0; fd < 3; fd++) {
        int opened = -1;
        failures += open_raw(TMP, "stream", 0, __WASI_OFLAGS_CREAT, ALL_RIGHTS, &opened) != 0;
        failures += opened != fd;
        failures += write_to(opened) != 0;
    }
    __wasi_filestat_t stat;
    failures += __wasi_fd_filestat_get(1, &stat) != 0;
    failures += stat.filetype != __WASI_FILETYPE_REGULAR_FILE || stat.size != 4;
    return failures == 0 ? REFUSED : failures;
}

int renumbered_stdio(void) {
    int failures = 0;
    int file = -1;
    failures += open_raw(TMP, "file", 0, __WASI_OFLAGS_CREAT, ALL_RIGHTS, &file) != 0;
    failures += __wasi_fd_renumber(file, 1) != 0;
    failures += write_to(1) != 0;
    failures += write_to(file) != EBADF;
    // A granted folder as stderr, and stdin as the folder.
    failures += __wasi_fd_renumber(REPO, 2) != 0;
    failures += write_to(2) == 0;
    failures += __wasi_fd_renumber(0, TMP) != 0;
    int opened = -1;
    failures += open_raw(TMP, "x", 0, __WASI_OFLAGS_CREAT, ALL_RIGHTS, &opened) == 0;
    failures += open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &opened) != EBADF;
    failures += open_raw(2, "a.txt", 0, 0, READ_RIGHTS, &opened) != 0;
    failures += open_raw(2, "../tmp/file", 0, 0, READ_RIGHTS, &opened) == 0;
    failures += open_raw(2, "new", 0, __WASI_OFLAGS_CREAT, ALL_RIGHTS, &opened) != EROFS;
    return failures == 0 ? REFUSED : failures;
}

int renumber_leak(void) {
    int target = -1;
    expect("open", open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &target), 0);
    int failures = 0;
    for (int turn = 0; turn < 100000; turn++) {
        int opened = -1;
        failures += open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &opened) != 0;
        failures += __wasi_fd_renumber(opened, target) != 0;
    }
    holds("every turn went well", failures == 0);
    int next = -1;
    expect("open", open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &next), 0);
    holds("no number was lost", next == target + 1);
    expect("onto itself", __wasi_fd_renumber(target, target), 0);
    return verdict();
}

int renumber_exhaustion(void) {
    int opened = -1;
    expect("open", open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &opened), 0);
    expect("to a number far away", __wasi_fd_renumber(opened, 1000000), EBADF);
    expect("to the last number", __wasi_fd_renumber(opened, UINT32_MAX), EBADF);
    expect("to the next number", __wasi_fd_renumber(opened, opened + 1), EBADF);
    expect("from nowhere", __wasi_fd_renumber(UINT32_MAX, opened), EBADF);
    expect("from nowhere to nowhere", __wasi_fd_renumber(777, 777), EBADF);
    int count = 0;
    int errno_got = 0;
    for (int fd = -1; errno_got == 0 && count < 1000000; count++) {
        errno_got = open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &fd);
    }
    expect("opening without end", errno_got, EMFILE);
    expect("renumbering at the limit", __wasi_fd_renumber(opened, opened + 1), 0);
    int again = -1;
    expect("one more", open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &again), 0);
    holds("in the place that became free", again == opened);
    return verdict();
}

int lost_rights(void) {
    int fd = -1;
    expect("every right", open_raw(REPO, "a.txt", 0, 0, ALL_RIGHTS, &fd), EROFS);
    expect("rights that do not exist",
           open_raw(REPO, "a.txt", 0, 0, UINT64_MAX & ~ALL_RIGHTS, &fd), 0);
    expect("read without the right", write_to(fd), EBADF);
    expect("take rights", __wasi_fd_fdstat_set_rights(fd, ALL_RIGHTS, ALL_RIGHTS), ENOTCAPABLE);
    expect("reading", open_raw(REPO, "a.txt", 0, 0, READ_RIGHTS, &fd), 0);
    expect("give up", __wasi_fd_fdstat_set_rights(fd, 0, 0), 0);
    expect("take back", __wasi_fd_fdstat_set_rights(fd, READ_RIGHTS, 0), ENOTCAPABLE);
    uint8_t byte = 0;
    __wasi_iovec_t vector = {&byte, 1};
    __wasi_size_t read = 0;
    expect("read what was given up", __wasi_fd_read(fd, &vector, 1, &read), EBADF);
    // A folder that cannot hand out the right to write.
    int folder = -1;
    expect("a folder", open_raw(TMP, ".", 0, __WASI_OFLAGS_DIRECTORY,
                                READ_RIGHTS | __WASI_RIGHTS_PATH_OPEN, &folder), 0);
    int below = -1;
    (void)open_raw(folder, "below", 0, __WASI_OFLAGS_CREAT, ALL_RIGHTS, &below);
    holds("no writing below it", below < 0 || write_to(below) == EBADF);
    return verdict();
}

int vectors_over_vectors(void) {
    int file = -1;
    expect("open", open_raw(TMP, "f", 0, __WASI_OFLAGS_CREAT, ALL_RIGHTS, &file), 0);
    __wasi_size_t done = 0;
    // A file of 0xff, read over the very vectors that say where to read to.
    static uint8_t full[64];
    memset(full, 0xff, sizeof full);
    __wasi_ciovec_t out = {full, sizeof full};
    expect("write", __wasi_fd_write(file, &out, 1, &done), 0);
    static __wasi_iovec_t vectors[4];
    for (int index = 0; index < 4; index++) {
        vectors[index].buf = (uint8_t *)vectors;
        vectors[index].buf_len = sizeof vectors / 4;
    }
    expect("read over the vectors", __wasi_fd_pread(file, vectors, 4, 0, &done), 0);
    holds("as many as fit", done == sizeof vectors);
    // The count of bytes lands in the buffer, and in the vector.
    __wasi_iovec_t own = {(uint8_t *)&own, sizeof own};
    expect("count over the vector",
           __wasi_fd_pread(file, &own, 1, 0, (__wasi_size_t *)&own), 0);
    __wasi_ciovec_t self = {(const uint8_t *)&self, sizeof self};
    expect("write the vector", __wasi_fd_pwrite(file, &self, 1, 0, &self.buf_len), 0);
    // Vectors of no bytes at no place.
    __wasi_ciovec_t empty = {NULL, 0};
    expect("an empty vector", __wasi_fd_write(file, &empty, 1, &done), 0);
    __wasi_ciovec_t nowhere = {(const uint8_t *)UINTPTR_MAX, 0};
    expect("an empty vector nowhere", __wasi_fd_write(file, &nowhere, 1, &done), EFAULT);
    __wasi_ciovec_t wraps = {(const uint8_t *)16, UINT32_MAX};
    expect("a vector that wraps", __wasi_fd_write(file, &wraps, 1, &done), EFAULT);
    __wasi_ciovec_t pair[2] = {{full, 8}, {(const uint8_t *)UINTPTR_MAX, 8}};
    expect("a good and a bad one", __wasi_fd_write(file, pair, 2, &done), EFAULT);
    expect("too many", __wasi_fd_write(file, pair, 1025, &done), EINVAL);
    return verdict();
}
