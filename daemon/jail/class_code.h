/* SPDX-License-Identifier: MIT */
#pragma once
/* The Python program that loads a task class (class.py). */

extern const char class_code[]; /* ends with a NUL */
