/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that fail on request (../faults/faults.h). Preloaded, this library
 * stands before the C library: its functions count, and otherwise do what those behind them do.
 *
 * posix_memalign stands for FFmpeg: libavutil takes all memory from it, so that each of its calls
 * fails as it does where memory runs out.
 */
/* For RTLD_NEXT. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "../faults/faults.h"

#define EXPORT SOFTDEVICES_EXPORT

/* Defines a function that gives `bad` and sets errno where it is to fail. */
#define FUNCTION(type, bad, usual, name, parameters, arguments)                                    \
    EXPORT type name parameters;                                                                   \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*next) parameters;                                                             \
        int error = softdevices_fault(#name, usual);                                               \
                                                                                                   \
        if (error) {                                                                               \
            errno = error;                                                                         \
            return bad;                                                                            \
        }                                                                                          \
        if (!next)                                                                                 \
            next = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                    \
        return next arguments;                                                                     \
    }

FUNCTION(void *, (void *)-1, ENOMEM, mmap,
         (void *at, size_t size, int protection, int flags, int fd, off_t offset),
         (at, size, protection, flags, fd, offset))
FUNCTION(void *, (void *)-1, ENOMEM, mmap64,
         (void *at, size_t size, int protection, int flags, int fd, off64_t offset),
         (at, size, protection, flags, fd, offset))
FUNCTION(int, -1, ENOMEM, munmap, (void *at, size_t size), (at, size))
FUNCTION(int, -1, EMFILE, memfd_create, (const char *name, unsigned int flags), (name, flags))
FUNCTION(int, -1, ENOSPC, ftruncate, (int fd, off_t size), (fd, size))
FUNCTION(int, -1, ENOSPC, ftruncate64, (int fd, off64_t size), (fd, size))
FUNCTION(off_t, -1, EIO, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
FUNCTION(off64_t, -1, EIO, lseek64, (int fd, off64_t offset, int whence), (fd, offset, whence))
FUNCTION(int, -1, EMFILE, dup, (int fd), (fd))
FUNCTION(int, -1, EMFILE, dup3, (int fd, int other, int flags), (fd, other, flags))
FUNCTION(ssize_t, -1, ECONNRESET, sendmsg, (int fd, const struct msghdr *message, int flags),
         (fd, message, flags))
FUNCTION(ssize_t, -1, ECONNRESET, recvmsg, (int fd, struct msghdr *message, int flags),
         (fd, message, flags))
FUNCTION(ssize_t, -1, ECONNRESET, send, (int fd, const void *from, size_t size, int flags),
         (fd, from, size, flags))
FUNCTION(ssize_t, -1, ECONNRESET, recv, (int fd, void *to, size_t size, int flags),
         (fd, to, size, flags))

/* These take one more argument or none, of the size of a pointer or less. */
#define VARIADIC(usual, name, second)                                                              \
    EXPORT int name(int fd, second request, ...);                                                  \
    int name(int fd, second request, ...)                                                          \
    {                                                                                              \
        static int (*next)(int, second, ...);                                                      \
        int error = softdevices_fault(#name, usual);                                               \
        va_list arguments;                                                                         \
        void *argument;                                                                            \
                                                                                                   \
        if (error) {                                                                               \
            errno = error;                                                                         \
            return -1;                                                                             \
        }                                                                                          \
        if (!next)                                                                                 \
            next = (int (*)(int, second, ...))dlsym(RTLD_NEXT, #name);                             \
        va_start(arguments, request);                                                              \
        argument = va_arg(arguments, void *);                                                      \
        va_end(arguments);                                                                         \
        return next(fd, request, argument);                                                        \
    }

VARIADIC(EIO, ioctl, unsigned long)
VARIADIC(EMFILE, fcntl, int)
VARIADIC(EMFILE, fcntl64, int)

/* This one gives its error, and leaves errno alone. */
EXPORT int posix_memalign(void **place, size_t alignment, size_t size);
int posix_memalign(void **place, size_t alignment, size_t size)
{
    static int (*next)(void **, size_t, size_t);
    int error = softdevices_fault("posix_memalign", ENOMEM);

    if (error)
        return error;
    if (!next)
        next = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
    return next(place, alignment, size);
}
