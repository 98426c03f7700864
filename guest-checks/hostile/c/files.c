// Attacks on the file system: paths, offsets, folders that are listed, links, times.

#include "guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITE_RIGHTS                                                                       \
    (__WASI_RIGHTS_FD_WRITE | __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_SEEK                 \
     | __WASI_RIGHTS_FD_TELL | __WASI_RIGHTS_FD_ALLOCATE                                    \
     | __WASI_RIGHTS_FD_FILESTAT_SET_SIZE)

// The raw call takes a length; the header's takes a string, which ends at a NUL.
__attribute__((import_module("wasi_snapshot_preview1"), import_name("path_filestat_get")))
extern int32_t path_filestat_get(int32_t fd, int32_t flags, const char *path, int32_t length,
                                 void *stat);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("path_symlink")))
extern int32_t path_symlink(const char *target, int32_t target_length, int32_t fd,
                            const char *path, int32_t length);

static int stat_raw(int folder, const char *path, size_t length) {
    __wasi_filestat_t stat;
    return path_filestat_get(folder, 1, path, (int32_t)length, &stat);
}

static int symlink_raw(const char *target, const char *path) {
    return path_symlink(target, (int32_t)strlen(target), TMP, path, (int32_t)strlen(path));
}

int hostile_paths(void) {
    expect("a NUL inside", stat_raw(REPO, "a.txt\0x", 7), EINVAL);
    expect("a NUL at the end", stat_raw(REPO, "a.txt\0", 6), EINVAL);
    expect("a NUL before a way out", stat_raw(REPO, "a.txt\0/../../etc", 16), EINVAL);
    expect("no UTF-8", stat_raw(REPO, "\xff\xfe", 2), EILSEQ);
    expect("an overlong slash", stat_raw(REPO, "..\xc0\xaf..", 6), EILSEQ);
    expect("half a character", stat_raw(REPO, "\xe2\x82", 2), EILSEQ);
    expect("empty", stat_raw(REPO, "", 0), ENOENT);
    expect("absolute", stat_raw(REPO, "/etc/passwd", 11), ENOTCAPABLE);
    expect("absolute twice", stat_raw(REPO, "//repo", 6), ENOTCAPABLE);
    expect("up", stat_raw(REPO, "..", 2), ENOTCAPABLE);
    expect("down and up", stat_raw(REPO, "src/../../repo", 14), ENOTCAPABLE);
    expect("a backslash is a name", stat_raw(REPO, "..\\etc", 6), ENOENT);
    expect("a drive is a name", stat_raw(REPO, "C:", 2), ENOENT);
    expect("a device of Windows is a name", stat_raw(REPO, "NUL", 3), ENOENT);
    expect("through a file", stat_raw(REPO, "a.txt/x", 7), ENOTDIR);
    static char longest[1 << 20];
    memset(longest, 'n', sizeof longest);
    expect("a name of 255", stat_raw(TMP, longest, 255), ENOENT);
    expect("a name of 256", stat_raw(TMP, longest, 256), ENAMETOOLONG);
    expect("a path of 64 KiB", stat_raw(TMP, longest, 65536), ENAMETOOLONG);
    expect("a path of 1 MiB", stat_raw(TMP, longest, sizeof longest), ENAMETOOLONG);
    expect("a path past the memory", stat_raw(TMP, longest, 0x7fffffff), EFAULT);
    for (size_t index = 0; index < sizeof longest; index += 2) {
        longest[index] = '.';
        longest[index + 1] = '/';
    }
    expect("4 KiB of here", stat_raw(TMP, longest, 4094), 0);
    expect("more of here", stat_raw(TMP, longest, 4096), ENAMETOOLONG);
    memset(longest, '/', sizeof longest);
    longest[0] = '.';
    expect("4 KiB of slashes", stat_raw(TMP, longest, 4095), 0);
    return verdict();
}

int far_offsets(void) {
    int file = -1;
    expect("open",
           open_raw(TMP, "far", 0, __WASI_OFLAGS_CREAT, WRITE_RIGHTS, &file), 0);
    const __wasi_ciovec_t vector = {(const uint8_t *)"x", 1};
    __wasi_size_t written = 0;
    __wasi_filesize_t at = 0;
    expect("seek to the end of numbers",
           __wasi_fd_seek(file, INT64_MAX, __WASI_WHENCE_SET, &at), 0);
    const int past = __wasi_fd_write(file, &vector, 1, &written);
    holds("write there is refused", past == EFBIG || past == ENOSPC);
    expect("seek on", __wasi_fd_seek(file, INT64_MAX, __WASI_WHENCE_CUR, &at), EOVERFLOW);
    expect("seek before the start", __wasi_fd_seek(file, -1, __WASI_WHENCE_SET, &at), EINVAL);
    expect("seek by the least number",
           __wasi_fd_seek(file, INT64_MIN, __WASI_WHENCE_END, &at), EINVAL);
    expect("seek in an unknown way", __wasi_fd_seek(file, 0, 3, &at), EINVAL);
    static const uint64_t far[] = {UINT64_C(1) << 32, UINT64_C(1) << 40, UINT64_C(1) << 62,
                                   INT64_MAX, UINT64_MAX};
    for (size_t index = 0; index < sizeof far / sizeof far[0]; index++) {
        const int wrote = __wasi_fd_pwrite(file, &vector, 1, far[index], &written);
        holds("pwrite far away is refused",
              wrote == EFBIG || wrote == ENOSPC || wrote == EINVAL);
        const int sized = __wasi_fd_filestat_set_size(file, far[index]);
        holds("a giant size is refused", sized == EFBIG || sized == ENOSPC || sized == EINVAL);
        const int allocated = __wasi_fd_allocate(file, far[index], 1);
        holds("allocating far away is refused",
              allocated == EFBIG || allocated == ENOSPC || allocated == EINVAL);
        uint8_t byte = 0;
        const __wasi_iovec_t into = {&byte, 1};
        __wasi_size_t read = 9;
        const int got = __wasi_fd_pread(file, &into, 1, far[index], &read);
        holds("reading far away gives nothing", got == EINVAL || (got == 0 && read == 0));
    }
    expect("allocating nothing", __wasi_fd_allocate(file, 0, 0), EINVAL);
    expect("allocating a sum that wraps", __wasi_fd_allocate(file, UINT64_MAX, UINT64_MAX),
           EFBIG);
    __wasi_filestat_t stat;
    expect("stat", __wasi_fd_filestat_get(file, &stat), 0);
    holds("the file is still empty", stat.size == 0);
    return verdict();
}

int hostile_cookies(void) {
    static uint8_t buffer[4096];
    __wasi_size_t used = 99;
    static const uint64_t cookies[] = {4, 5, 1000, UINT32_MAX, UINT64_C(1) << 32,
                                       UINT64_C(1) << 63, UINT64_MAX};
    for (size_t index = 0; index < sizeof cookies / sizeof cookies[0]; index++) {
        used = 99;
        expect("a cookie never given out",
               __wasi_fd_readdir(TMP, buffer, sizeof buffer, cookies[index], &used), 0);
        holds("gives nothing", used == 0);
    }
    expect("no room", __wasi_fd_readdir(REPO, buffer, 0, 0, &used), 0);
    holds("gives nothing", used == 0);
    expect("one byte", __wasi_fd_readdir(REPO, buffer, 1, 0, &used), 0);
    holds("gives one byte", used == 1);
    memset(buffer, 0x77, sizeof buffer);
    expect("less than a head", __wasi_fd_readdir(REPO, buffer, 23, 0, &used), 0);
    holds("nothing past it", used == 23 && buffer[23] == 0x77);
    expect("a buffer past the memory", __wasi_fd_readdir(REPO, buffer, UINT32_MAX, 0, &used),
           EFAULT);
    expect("a buffer nowhere",
           __wasi_fd_readdir(REPO, (uint8_t *)UINTPTR_MAX, 0, 0, &used), EFAULT);
    expect("a count nowhere",
           __wasi_fd_readdir(REPO, buffer, 64, 0, (__wasi_size_t *)(UINTPTR_MAX - 2)), EFAULT);
    int file = -1;
    expect("open", open_raw(REPO, "a.txt", 0, 0, __WASI_RIGHTS_FD_READ, &file), 0);
    expect("listing a file", __wasi_fd_readdir(file, buffer, 64, 0, &used), ENOTDIR);
    const int stream = __wasi_fd_readdir(1, buffer, 64, 0, &used);
    holds("listing a stream is refused", stream != 0);
    return verdict();
}

int changing_folder(void) {
    static const char names[][2] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    int file = -1;
    for (size_t index = 0; index < 8; index++) {
        expect("make", open_raw(TMP, names[index], 0, __WASI_OFLAGS_CREAT, WRITE_RIGHTS, &file),
               0);
        expect("close", __wasi_fd_close(file), 0);
    }
    static uint8_t buffer[64];
    __wasi_size_t used = 0;
    uint64_t cookie = 0;
    int rows = 0;
    do {
        expect("list", __wasi_fd_readdir(TMP, buffer, 26, cookie, &used), 0);
        if (used < 24) {
            break;
        }
        memcpy(&cookie, buffer, sizeof cookie);
        // What was not listed yet goes, and other names come.
        (void)!__wasi_path_unlink_file(TMP, names[7 - rows % 8]);
        char name[3] = {'x', (char)('a' + rows % 26), 0};
        (void)open_raw(TMP, name, 0, __WASI_OFLAGS_CREAT, WRITE_RIGHTS, &file);
        rows++;
    } while (rows < 1000);
    holds("the list ends", rows < 64);
    return verdict();
}

int absolute_links(void) {
    static const char *const targets[] = {
        "/etc/passwd", "/", "//", "/repo/a.txt", "/tmp/inner", "/../../etc", "../repo/a.txt",
        "..", "../..", "./..", "a/../../repo", "/proc/self/mem", "/dev/null",
    };
    char path[] = "link-a";
    for (size_t index = 0; index < sizeof targets / sizeof targets[0]; index++) {
        path[5] = (char)('a' + index);
        const int made = symlink_raw(targets[index], path);
        holds("a link is text, or refused", made == 0 || made == ENOTCAPABLE);
        int fd = -1;
        holds("following it leads nowhere",
              open_raw(TMP, path, 1, 0, __WASI_RIGHTS_FD_READ, &fd) != 0);
        holds("writing through it neither",
              open_raw(TMP, path, 1, __WASI_OFLAGS_CREAT, WRITE_RIGHTS, &fd) != 0);
        holds("nor listing it",
              open_raw(TMP, path, 1, __WASI_OFLAGS_DIRECTORY, __WASI_RIGHTS_FD_READDIR, &fd) != 0);
        holds("nor by its stat", stat_raw(TMP, path, strlen(path)) != 0);
    }
    const int empty = symlink_raw("", "empty");
    holds("an empty target is refused", empty == EINVAL || empty == ENOENT);
    expect("a NUL in the target", path_symlink("a\0b", 3, TMP, "nul", 3), EINVAL);
    expect("a target that is no UTF-8", path_symlink("\xff", 1, TMP, "bad", 3), EILSEQ);
    static char longest[70000];
    memset(longest, 'n', sizeof longest - 1);
    expect("a target of 70 kB", symlink_raw(longest, "long"), ENAMETOOLONG);
    expect("a link in the repository",
           path_symlink("x", 1, REPO, "new", 3), EROFS);
    return verdict();
}

// d0/x -> ../d1, d1/x -> ../d2 and so on: a walk by names of 2 choices each step.
int link_fan_out(void) {
    char folder[] = "d00";
    char target[] = "../d00";
    char link[] = "d00/x";
    for (int step = 0; step < 20; step++) {
        folder[1] = (char)('0' + step / 10);
        folder[2] = (char)('0' + step % 10);
        expect("make", __wasi_path_create_directory(TMP, folder), 0);
    }
    for (int step = 0; step < 19; step++) {
        link[1] = (char)('0' + step / 10);
        link[2] = (char)('0' + step % 10);
        target[4] = (char)('0' + (step + 1) / 10);
        target[5] = (char)('0' + (step + 1) % 10);
        for (char name = 'x'; name <= 'y'; name++) {
            link[4] = name;
            expect("link", symlink_raw(target, link), 0);
        }
    }
    // Every way from the first to the last folder, for ever.
    unsigned long walked = 0;
    for (uint32_t way = 0;; way++) {
        char path[64] = "d00";
        size_t length = 3;
        for (int step = 0; step < 19; step++) {
            path[length++] = '/';
            path[length++] = way >> step & 1 ? 'x' : 'y';
        }
        if (stat_raw(TMP, path, length) != 0) {
            printf("refused after %lu\n", walked);
            return 0;
        }
        walked++;
    }
}

int odd_times(void) {
    int file = -1;
    expect("open", open_raw(TMP, "t", 0, __WASI_OFLAGS_CREAT, WRITE_RIGHTS, &file), 0);
    static const uint64_t times[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t index = 0; index < sizeof times / sizeof times[0]; index++) {
        expect("set", __wasi_fd_filestat_set_times(file, times[index], times[index],
                                                   __WASI_FSTFLAGS_ATIM | __WASI_FSTFLAGS_MTIM),
               0);
        __wasi_filestat_t stat;
        expect("get", __wasi_fd_filestat_get(file, &stat), 0);
        holds("as it was set", stat.mtim == times[index]);
    }
    expect("set and now", __wasi_fd_filestat_set_times(file, 0, 0, 3), EINVAL);
    expect("unknown flags", __wasi_fd_filestat_set_times(file, 0, 0, 0x80), EINVAL);
    expect("of the repository",
           __wasi_path_filestat_set_times(REPO, 0, "a.txt", 0, 0, __WASI_FSTFLAGS_MTIM), EROFS);
    return verdict();
}
