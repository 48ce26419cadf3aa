/* SPDX-License-Identifier: MIT */
#pragma once
/* The forms that a report can be written in: one row of REPORT_FORMATS each. */

#include "results.h"

#include <stdio.h>

/* Name, a C identifier; endings of the files that are written in it; writer; help of the option
 * --NAME that chooses it. The default form has no option. To add a form, add a row, a file with its
 * writer, and that file to client/meson.build. */
#define REPORT_FORMATS(DEFAULT, OPTION)                                                        \
    DEFAULT(text, ".txt", format_text, NULL)                                                   \
    OPTION(json, ".json", format_json, "print the BenchRunReport as JSON")                     \
    OPTION(junit, ".xml", format_junit, "print JUnit's XML, with a test case for each result") \
    OPTION(html, ".html, .htm", format_html,                                                   \
           "print an HTML page that needs no other file and no network")                       \
    OPTION(markdown, ".md", format_markdown,                                                   \
           "print Markdown for the summary of a CI job, as GitHub and GitLab show it")

/* The input of a writer. */
struct report_view {
    const json_t *report;          /* the BenchRunReport */
    const struct results *results; /* what it was made from. JUnit, and `failures`, have messages by
                                    * its spool. */
    size_t columns;                /* of text for people */
    bool colour;
    bool failures; /* text lists every result that did not pass; the results have a spool */
};

struct report_format {
    const char *name;
    const char *endings; /* ".html, .htm" */
    /* Writes the report to OUT; whoever closes OUT checks it for failed writes. 0, -ENOMEM, -EIO.
     */
    int (*write)(FILE *out, const struct report_view *view);
    bool has_option; /* --NAME chooses it */
};

#define FORMAT_NUMBER(name_, ...) FORMAT_##name_,
enum report_format_no { REPORT_FORMATS(FORMAT_NUMBER, FORMAT_NUMBER) FORMATS_N };
#undef FORMAT_NUMBER

#define FORMAT_WRITER(name_, endings_, write_, ...) \
    int write_(FILE *out, const struct report_view *view);
REPORT_FORMATS(FORMAT_WRITER, FORMAT_WRITER)
#undef FORMAT_WRITER

/* ".txt, .json, ...", as a literal. */
#define FORMAT_FIRST_ENDINGS(name_, endings_, ...) endings_
#define FORMAT_NEXT_ENDINGS(name_, endings_, ...) ", " endings_
#define FORMAT_ENDINGS REPORT_FORMATS(FORMAT_FIRST_ENDINGS, FORMAT_NEXT_ENDINGS)

/* By report_format_no; the default comes first. */
extern const struct report_format report_formats[FORMATS_N];

/* The form that the ending of PATH names, in upper or lower case; NULL if none does. */
const struct report_format *formats_of_path(const char *path);

/* How many results have no score of their own, because their rubric crashed or wrote none: their 0
 * says nothing of the answer. */
int64_t formats_crashed(const json_t *report);

/* Writes the options of all forms into OUT, as "--json, --junit and --html". Returns OUT. */
#define FORMATS_OPTIONS_MAX 128
const char *formats_options(char out[FORMATS_OPTIONS_MAX]);

/* Returns "Python 3.11.2, Linux 6.1 x86_64, 2 CPUs, 23.5 GiB, 2 slots" for one of the report's
 * hosts. The caller frees it; NULL when memory runs out. */
char *formats_host_in_words(const json_t *host);
