/* SPDX-License-Identifier: MIT */
#pragma once
/* Macros that every folder uses: cleanup attributes, ownership hand-over, container_of.
 *
 * README.md describes the room.
 *
 * Conventions of the whole tree:
 *  - A function that can fail returns 0 or a positive value on success and a negative errno on
 *    failure; ret_ parameters come last and are untouched on failure.
 *  - x_new/x_free are for heap objects; x_free accepts NULL and returns NULL. x_init/x_deinit are
 *    for embedded structs. X_NULL is the initialiser of an empty one, descriptors at -1.
 *  - Names say ownership: take_, consume_; borrowed is the default. */

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Hands a pointer or a descriptor over to the caller and leaves NULL or -1 in the variable. */
#define TAKE_PTR(p)                            \
    __extension__({                            \
        __typeof__(p) *_take_at = &(p);        \
        __typeof__(p) _take_value = *_take_at; \
        *_take_at = NULL;                      \
        _take_value;                           \
    })
#define TAKE_FD(fd)                  \
    __extension__({                  \
        int *_take_at = &(fd);       \
        int _take_value = *_take_at; \
        *_take_at = -1;              \
        _take_value;                 \
    })

/* Hands a struct over to the caller with what it owns and leaves its empty initialiser in the
 * variable. */
#define TAKE_STRUCT(value, ...)                     \
    __extension__({                                 \
        __typeof__(value) *_take_at = &(value);     \
        __typeof__(value) _take_value = *_take_at;  \
        *_take_at = (__typeof__(value))__VA_ARGS__; \
        _take_value;                                \
    })

static inline void free_pointer(void *p)
{
    free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(free_pointer)

/* Closes FD if it is one, keeps errno, and returns -1 to be assigned back. */
static inline int close_fd(int fd)
{
    if (fd >= 0) {
        int saved = errno;
        (void)close(fd);
        errno = saved;
    }
    return -1;
}

static inline void close_fd_pointer(int *fd)
{
    *fd = close_fd(*fd);
}
#define _cleanup_close_ _cleanup_(close_fd_pointer)
