/* SPDX-License-Identifier: MIT */
#include "language.h"

#include "proto/util.h"

#include <string.h>

/* Which languages there are, and what they are compiled with, the daemon knows. */
static const struct {
    const char *extension, *language;
} languages[] = {
    {"c", "c"},           {"cpp", "cpp"},
    {"cc", "cpp"},        {"cxx", "cpp"},
    {"c++", "cpp"},       {"C", "cpp"},
    {"py", "python"},     {"py3", "python"},
    {"js", "javascript"}, {"mjs", "javascript"},
    {"ts", "typescript"}, {"java", "java"},
    {"go", "go"},         {"rs", "rust"},
    {"sh", "bash"},       {"bash", "bash"},
    {"rb", "ruby"},       {"php", "php"},
    {"pl", "perl"},       {"lua", "lua"},
    {"r", "r"},           {"R", "r"},
    {"cs", "csharp"},     {"hs", "haskell"},
    {"ml", "ocaml"},      {"d", "d"},
    {"pas", "pascal"},    {"pp", "pascal"},
    {"scala", "scala"},   {"kt", "kotlin"},
};

/* The names of source files, as in conf/languages.d. Java and Scala name theirs after its class. */
static const struct {
    const char *language, *source;
} sources[] = {
    {"c", "main.c"},           {"cpp", "main.cpp"},       {"python", "main.py"},
    {"javascript", "main.js"}, {"typescript", "main.ts"}, {"go", "main.go"},
    {"rust", "main.rs"},       {"bash", "main.sh"},       {"ruby", "main.rb"},
    {"php", "main.php"},       {"perl", "main.pl"},       {"lua", "main.lua"},
    {"r", "main.R"},           {"csharp", "main.cs"},     {"haskell", "main.hs"},
    {"ocaml", "main.ml"},      {"d", "main.d"},           {"pascal", "main.pas"},
    {"kotlin", "main.kt"},
};

const char *language_of_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < ARRAY_SIZE(languages); i++)
        if (strcmp(dot + 1, languages[i].extension) == 0)
            return languages[i].language;
    return NULL;
}

const char *language_source_of_file(const char *path)
{
    const char *language = language_of_file(path);
    for (size_t i = 0; language && i < ARRAY_SIZE(sources); i++)
        if (strcmp(sources[i].language, language) == 0)
            return sources[i].source;
    return NULL;
}
