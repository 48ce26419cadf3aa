/* SPDX-License-Identifier: MIT */
#include "load.h"

#include "client/batch/input.h"
#include "client/batch/jobline.h"
#include "client/terminal/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Bytes of a line: it holds a sample, which fits into a frame. */
#define LINE_BYTES_MAX ((size_t)64 << 20)
/* Lines of each file that are named on stderr. */
#define LINES_NAMED 10

struct loading {
    struct results *results;
    struct runreport_file *files;
    struct input input;
    bool fatal;
    size_t wrong; /* files that could not be read, or lines that are too long */
};

/* Prints what is wrong with the line read last; after LINES_NAMED it only counts. */
static void complain_line(const struct loading *loading, uint64_t *count, const char *what)
{
    const struct input *input = &loading->input;
    if (++*count <= LINES_NAMED)
        complain("%s:%" PRIu64 ": %s", input->name, input->line_no, what);
    else if (*count == LINES_NAMED + 1)
        complain("%s: more lines like these follow; they are only counted", input->name);
}

static int add_line(struct loading *loading, const char *text, size_t n, struct fault *fault)
{
    assert(loading->input.next_file > 0);
    struct runreport_file *file = &loading->files[loading->input.next_file - 1];
    _cleanup_json_ json_t *object = NULL;
    struct line line = {.state = LINE_NOTE};
    int r = jobline_read_object(text, n, line_uses, &object, fault);
    if (r == 0)
        r = line_decode(object, &line, fault);
    if (r < 0 || line.state == LINE_NOTE)
        return r;
    r = results_add(loading->results, &line, (uint16_t)(loading->input.next_file - 1), fault);
    if (r < 0)
        return r;
    file->lines++;
    if (r > 0) {
        struct fault again;
        (void)fault_set(&again, "\"%.128s\" occurs earlier in this file; the last line counts",
                        line.id);
        complain_line(loading, &file->duplicates, again.text);
    }
    return 0;
}

static void take_line(struct loading *loading, const char *text, size_t n)
{
    struct runreport_file *file = &loading->files[loading->input.next_file - 1];
    /* No newline follows it: its writer may have been interrupted. */
    bool cut_off = loading->input.consumed == n;
    struct fault fault = FAULT_NULL;
    if (jobline_blank(text, n))
        return;
    int r = add_line(loading, text, n, &fault);
    if (r == 0)
        return;
    struct fault what;
    if (r == -ENOMEM || r == -EFBIG || r == -EIO)
        loading->fatal = true;
    (void)fault_set(&what, "%s%s",
                    r == -EBADMSG && cut_off ? "cut off at the end of the file: " : "",
                    fault.text[0] ? fault.text : strerror(-r));
    complain_line(loading, &file->unusable, what.text);
}

static void read_all(struct loading *loading)
{
    struct input *input = &loading->input;
    while (!loading->fatal) {
        const char *text;
        size_t n;
        struct fault fault = FAULT_NULL;
        switch (input_next_blocking(input, &text, &n, &fault)) {
        case INPUT_LINE:
            take_line(loading, text, n);
            break;
        case INPUT_WRONG:
            complain("%s", fault.text);
            loading->files[input->next_file - 1].unusable++;
            loading->wrong++;
            break;
        case INPUT_WAIT: /* never */
        case INPUT_END:
            return;
        }
    }
}

int load_results(const char *const *files, size_t n, struct results *results,
                 struct runreport_file **ret_files)
{
    _cleanup_free_ struct runreport_file *counts = calloc(MAX(n, 1), sizeof(*counts));
    struct loading loading = {.results = results, .files = counts, .input = INPUT_NULL};
    if (n > RESULTS_FILES_MAX) {
        complain("more than %d files", RESULTS_FILES_MAX);
        return -EIO;
    }
    if (!counts || input_init(&loading.input, files, n, LINE_BYTES_MAX) < 0) {
        complain("out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++)
        counts[i].name = strcmp(files[i], "-") == 0 ? "stdin" : files[i];
    read_all(&loading);
    input_deinit(&loading.input);
    if (loading.fatal)
        return -EIO;
    if (results->n == 0 && loading.wrong >= n)
        return -EIO; /* none of the files could be read, and each has been named */
    if (results->n == 0) {
        complain("%s%s: no result was found", counts[0].name, n > 1 ? " and the other files" : "");
        return -EIO;
    }
    worst_sort(&results->worst);
    *ret_files = TAKE_PTR(counts);
    return 0;
}
