/* SPDX-License-Identifier: MIT */
#pragma once
/* The hash FNV-1a, which tells texts apart where nothing is lost if two have the same. Pure. */

#include <stdint.h>

#define FNV_BASIS UINT64_C(14695981039346656037)

/* The hash of what HASH is that of, and TEXT behind it. */
static inline uint64_t fnv_add(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}
