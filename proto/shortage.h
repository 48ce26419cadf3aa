/* SPDX-License-Identifier: MIT */
#pragma once
/* Tells a shortage of the host from an answer of the kernel. */

#include <errno.h>
#include <stdbool.h>

/* Whether ERROR, an errno, says that something was short, was interrupted, or that a device failed.
 * Such an error says nothing of what was asked for: whoever asks again may get it. */
static inline bool is_shortage(int error)
{
    switch (error) {
    case EAGAIN:
    case EDQUOT:
    case EINTR:
    case EIO:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
    case ESTALE:
    case ETIMEDOUT:
    case ETOOMANYREFS:
        return true;
    default:
        return false;
    }
}
