/* SPDX-License-Identifier: MIT */
#include "resultfile.h"
#include "idmap.h"
#include "jobline.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* --- one line ----------------------------------------------------------------------------- */

/* Sums the cost of all attempts. An error has none. */
static double cost_of(const json_t *object, const json_t *run)
{
    const json_t *earlier = json_object_get(run, "earlier");
    double cost = json_number_value(json_object_get(json_object_get(object, "score"), "cost_usd"));
    for (size_t i = 0; i < json_array_size(earlier); i++) {
        const json_t *answer = json_object_get(json_array_get(earlier, i), "answer");
        cost += json_number_value(json_object_get(json_object_get(answer, "score"), "cost_usd"));
    }
    return cost;
}

/* Decodes a message with `run`, or a line of `grade`. The latter has the id in `run`, and a null
 * `passed` if its job ended in an error. */
static bool decode(json_t *object, struct result_line *ret)
{
    json_t *run = json_object_get(object, "run");
    const json_t *own_id = json_object_get(run, "id");
    const json_t *id = own_id ? own_id : json_object_get(object, "id");
    const char *type = json_string_value(json_object_get(object, "type"));
    const json_t *passed =
        json_object_get(own_id ? object : json_object_get(object, "score"), "passed");
    if (!json_is_string(id) || !json_is_string(json_object_get(run, "job_digest")))
        return false;
    if (!own_id && (!type || (strcmp(type, "result") != 0 && strcmp(type, "error") != 0)))
        return false;
    ret->object = object;
    ret->run = run;
    ret->id = json_string_value(id);
    ret->id_length = json_string_length(id);
    ret->answered = own_id ? json_is_boolean(passed) : strcmp(type, "result") == 0;
    ret->passed = json_is_true(passed);
    ret->cost_usd = cost_of(object, run);
    return true;
}

/* --- the whole file ----------------------------------------------------------------------- */

struct reading {
    FILE *file;
    const char *path;
    char *text;
    size_t room;
    off_t at;                 /* where the next line begins */
    off_t readable;           /* end of the last line that could be read */
    uint64_t number;          /* of the last line */
    uint64_t broken;          /* first line that could not be read; 0: none */
    bool torn;                /* the last line has no newline */
    const struct idmap *last; /* number of the last line of each id; NULL: visit all lines */
    result_visit *visit;
    void *arg;
};

static void reading_deinit(struct reading *reading)
{
    if (reading->file)
        (void)fclose(reading->file);
    free(reading->text);
}

static bool is_wanted(const struct reading *reading, const struct result_line *line)
{
    const uint64_t *last =
        reading->last ? idmap_find(reading->last, line->id, line->id_length) : NULL;
    return !last || *last == line->number;
}

static int take_line(struct reading *reading, size_t length, struct fault *fault)
{
    _cleanup_json_ json_t *object = NULL;
    struct result_line line = {
        .number = ++reading->number,
        .text = reading->text,
        .length = length,
    };
    reading->at += (off_t)length;
    bool whole = reading->text[length - 1] == '\n';
    if (whole && jobline_blank(reading->text, length))
        return 0;
    if (!whole || json_read_object(reading->text, length, &object, NULL) < 0 ||
        !decode(object, &line)) {
        reading->broken = reading->broken ? reading->broken : line.number;
        reading->torn = !whole;
        return 0;
    }
    if (reading->broken)
        return fault_set(fault, "%s:%" PRIu64 ": not a line of results as rubricctl writes them",
                         reading->path, reading->broken);
    reading->readable = reading->at;
    return is_wanted(reading, &line) ? reading->visit(&line, reading->arg) : 0;
}

static int read_lines(struct reading *reading, struct fault *fault)
{
    reading->file = fopen(reading->path, "re");
    if (!reading->file) {
        int error = errno;
        (void)fault_set(fault, "%s: %s", reading->path, strerror(error));
        return -error;
    }
    ssize_t n;
    while ((n = getline(&reading->text, &reading->room, reading->file)) > 0) {
        int r = take_line(reading, (size_t)n, fault);
        if (r < 0)
            return r;
    }
    if (ferror(reading->file))
        return fault_set(fault, "%s: %s", reading->path, strerror(errno));
    /* A run that hardly began may leave a torn line and nothing else. */
    bool torn = reading->number == 1 && reading->torn && reading->text[0] == '{';
    if (reading->broken && reading->readable == 0 && !torn)
        return fault_set(fault, "%s:%" PRIu64 ": not a line of results as rubricctl writes them",
                         reading->path, reading->broken);
    return 0;
}

static int note_last(const struct result_line *line, void *arg)
{
    uint64_t *last = idmap_put(arg, line->id, line->id_length);
    if (!last)
        return -ENOMEM;
    *last = line->number;
    return 0;
}

int resultfile_read(const char *path, bool last_only, result_visit *visit, void *arg,
                    off_t *ret_end, struct fault *fault)
{
    _cleanup_(idmap_deinit) struct idmap last = IDMAP_NULL;
    if (last_only) {
        off_t end;
        int r = resultfile_read(path, false, note_last, &last, &end, fault);
        if (r < 0)
            return r;
    }
    _cleanup_(reading_deinit) struct reading reading = {
        .path = path,
        .last = last_only ? &last : NULL,
        .visit = visit,
        .arg = arg,
    };
    int r = read_lines(&reading, fault);
    if (r == 0)
        *ret_end = reading.broken ? reading.readable : reading.at;
    return r;
}

/* --- the last line of each id ------------------------------------------------------------- */

static int copy_line(const struct result_line *line, void *arg)
{
    return fwrite(line->text, 1, line->length, arg) == line->length ? 0 : -EIO;
}

/* Brings the copy to the disk, with mode and owner of the original. */
static int finish_copy(FILE *copy, const char *path)
{
    struct stat st;
    if (fflush(copy) != 0 || stat(path, &st) < 0 || fchmod(fileno(copy), st.st_mode & 07777) < 0)
        return -errno;
    /* Only root can give a file away; a copy that we own is still complete. */
    if (fchown(fileno(copy), st.st_uid, st.st_gid) < 0 && errno != EPERM)
        return -errno;
    return fsync(fileno(copy)) < 0 ? -errno : 0;
}

static int write_copy(const char *path, const char *copy_path, struct fault *fault)
{
    off_t end;
    int fd = open(copy_path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *copy = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!copy) {
        int error = errno;
        close_fd(fd);
        return fault_set(fault, "%s: %s", copy_path, strerror(error));
    }
    errno = 0;
    int r = resultfile_read(path, true, copy_line, copy, &end, fault);
    if (r == 0)
        r = finish_copy(copy, path);
    if (r < 0 && !fault->text[0])
        (void)fault_set(fault, "%s: %s", copy_path, strerror(errno ? errno : -r));
    if (fclose(copy) != 0 && r == 0)
        r = fault_set(fault, "%s: %s", copy_path, strerror(errno));
    return r;
}

static int replace(const char *real, struct fault *fault)
{
    _cleanup_free_ char *copy_path = NULL;
    if (asprintf(&copy_path, "%s.new", real) < 0) {
        copy_path = NULL;
        return -ENOMEM;
    }
    int r = write_copy(real, copy_path, fault);
    if (r == 0 && rename(copy_path, real) < 0)
        r = fault_set(fault, "%s: %s", real, strerror(errno));
    if (r < 0)
        (void)unlink(copy_path);
    return r;
}

int resultfile_compact(const char *path, struct fault *fault)
{
    /* A link stays a link: replace its target. */
    _cleanup_free_ char *real = realpath(path, NULL);
    if (!real)
        return fault_set(fault, "%s: %s", path, strerror(errno));
    return replace(real, fault);
}
