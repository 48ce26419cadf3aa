/* SPDX-License-Identifier: MIT */
#include "python.h"
#include "util.h"

#include <ctype.h>
#include <string.h>

bool python_is_keyword(const char *text, size_t n)
{
    static const char *const keywords[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    };
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        if (strlen(keywords[i]) == n && memcmp(keywords[i], text, n) == 0)
            return true;
    return false;
}

bool python_is_module_name(const char *name)
{
    bool begins = true;
    for (const char *at = name; *at; at++) {
        bool is_letter = isascii((unsigned char)*at) && (isalpha((unsigned char)*at) || *at == '_');
        if (*at == '.' ? begins : !is_letter && (begins || !isdigit((unsigned char)*at)))
            return false;
        begins = *at == '.';
    }
    return !begins && strlen(name) <= PYTHON_MODULE_NAME_MAX;
}
