/* SPDX-License-Identifier: MIT */
#pragma once

/* Hands a struct that owns things over to the caller; the variable becomes EMPTY, its initialiser.
 * What TAKE_PTR is to a pointer. */
#define TAKE_STRUCT(value, ...)                     \
    __extension__({                                 \
        __typeof__(value) *_take_at = &(value);     \
        __typeof__(value) _take_value = *_take_at;  \
        *_take_at = (__typeof__(value))__VA_ARGS__; \
        _take_value;                                \
    })
