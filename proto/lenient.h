/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads JSON objects whose authors are less strict than json.h: what Python's json module writes,
 * or any program with numbers of its own. Pure. */

#include "json.h"

/* Returns whether the caller uses the member NAME, of N bytes, of the object. */
typedef bool json_is_used(const char *name, size_t n);

/* Whether NAME, of N bytes, is one of the COUNT NAMES. */
bool json_name_is_among(const char *name, size_t n, const char *const *names, size_t count);

/* Reads one JSON object of exactly N bytes as json_read_object() does, except for numbers that it
 * has no room for: NaN, Infinity, -Infinity, integers beyond 64 bits and numbers that overflow. In
 * members that IS_USED says no of, at any depth, each becomes a string of the same characters. In
 * the other members it is an error, and FAULT names the member.
 * Returns as json_read_object() does; the caller owns *ret. */
int json_read_lenient(const char *text, size_t n, json_is_used *is_used, json_t **ret,
                      struct fault *fault);

/* Finds the text of the value of member NAME in the N bytes of TEXT, an object that
 * json_read_lenient() has read. Returns whether there is one; *ret is borrowed from TEXT. */
bool json_member_text(const char *text, size_t n, const char *name, const char **ret,
                      size_t *ret_n);
