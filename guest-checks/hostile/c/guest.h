// What the files of the hostile C guest share.
//
// A sub-command that tries a wall counts every attempt with `expect` and ends with
// `verdict`: 7 when each was answered as it should be, 0 when one was not.

#ifndef GUEST_H
#define GUEST_H

#include <stdint.h>
#include <wasi/api.h>

// Exit code of a sub-command whose every attempt was answered as it should be.
enum { REFUSED = 7 };

// Descriptors of the folders that the host grants.
enum { REPO = 3, TMP = 4 };

// Prints one attempt and counts it if its errno is another one than expected.
void expect(const char *what, int errno_got, int errno_wanted);

// Prints one attempt and counts it unless it holds.
void holds(const char *what, int truth);

// The exit code by the attempts so far.
int verdict(void);

// Opens a path below a granted folder without any check of a library.
__wasi_errno_t open_raw(int folder, const char *path, unsigned lookup, unsigned flags,
                        uint64_t rights, int *opened);

int malloc_until_refused(void);
int big_frames(void);
int format_bomb(void);
int escape_flood(void);
int exit_handlers(void);
int arguments(void);
int environment(void);
int clocks(void);
int entropy(void);
int closed_stdio(void);
int renumbered_stdio(void);
int renumber_leak(void);
int renumber_exhaustion(void);
int lost_rights(void);
int vectors_over_vectors(void);
int hostile_paths(void);
int far_offsets(void);
int hostile_cookies(void);
int changing_folder(void);
int absolute_links(void);
int link_fan_out(void);
int odd_times(void);

#endif
