/* SPDX-License-Identifier: MIT */
#include "manifest.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "rubric-directory 1\n";

void manifest_deinit(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->n; i++)
        free(manifest->files[i].name);
    free(manifest->files);
    *manifest = (struct manifest)MANIFEST_NULL;
}

static bool is_part(const char *part, size_t n)
{
    bool is_dots = (n == 1 && part[0] == '.') || (n == 2 && part[0] == '.' && part[1] == '.');
    return n > 0 && !is_dots;
}

bool manifest_is_name(const char *name)
{
    size_t length = strlen(name), at = 0;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == '\x7f')
            return false;
    while (at <= length) {
        size_t n = strcspn(name + at, "/");
        if (!is_part(name + at, n))
            return false;
        at += n + 1;
    }
    return length <= RUBRICDIR_NAME_MAX;
}

bool manifest_is_digest(const char *text)
{
    return strlen(text) == RUBRICDIR_DIGEST_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == RUBRICDIR_DIGEST_SIZE - 1;
}

int manifest_print(const struct manifest_file *files, size_t n, struct bytes *ret)
{
    struct bytes text = BYTES_NULL;
    FILE *out = open_memstream(&text.data, &text.length);
    if (!out)
        return -ENOMEM;
    (void)fputs(head, out);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "%s %" PRIu64 " %c %s\n", files[i].digest, files[i].size,
                      files[i].is_executable ? 'x' : '-', files[i].name);
    bool is_short = ferror(out) != 0;
    if (fclose(out) != 0 || is_short) {
        bytes_deinit(&text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}

void manifest_digest(const char *text, size_t n, char ret[RUBRICDIR_DIGEST_SIZE])
{
    (void)SHA256Data((const uint8_t *)text, n, ret);
}

/* Reads the number at *AT up to a blank, as it is printed. */
static bool read_size(const char **at, uint64_t *ret)
{
    const char *from = *at;
    uint64_t value = 0;
    while (**at >= '0' && **at <= '9' && value <= RUBRICDIR_BYTES_MAX)
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
    *ret = value;
    return *at > from && **at == ' ' && (*from != '0' || *at == from + 1) &&
           value <= RUBRICDIR_BYTES_MAX;
}

/* Reads LINE, which has no newline. Its text is cut into pieces. */
static bool read_line(char *line, struct manifest_file *ret)
{
    const size_t digits = RUBRICDIR_DIGEST_SIZE - 1;
    if (strlen(line) < digits || line[digits] != ' ')
        return false;
    line[digits] = '\0';
    const char *at = line + digits + 1;
    if (!manifest_is_digest(line) || !read_size(&at, &ret->size))
        return false;
    memcpy(ret->digest, line, RUBRICDIR_DIGEST_SIZE);
    at++;
    if ((*at != '-' && *at != 'x') || at[1] != ' ' || !manifest_is_name(at + 2))
        return false;
    ret->is_executable = *at == 'x';
    ret->name = strdup(at + 2);
    return true;
}

static int add_line(struct manifest *manifest, char *line, struct fault *fault)
{
    struct manifest_file *file = &manifest->files[manifest->n];
    const char *before = manifest->n > 0 ? file[-1].name : "";
    if (!read_line(line, file))
        return fault_set(fault, "line %zu: not a file of a rubric", manifest->n + 2);
    if (!file->name)
        return -ENOMEM;
    manifest->n++;
    manifest->bytes += file->size;
    if (strcmp(before, file->name) >= 0)
        return fault_set(fault, "line %zu: %s is not behind %s", manifest->n + 1, file->name,
                         before);
    if (manifest->bytes > RUBRICDIR_BYTES_MAX)
        return fault_set(fault, "more than %u bytes of files", RUBRICDIR_BYTES_MAX);
    return 0;
}

int manifest_parse(const char *text, size_t n, struct manifest *ret, struct fault *fault)
{
    _cleanup_manifest_ struct manifest manifest = MANIFEST_NULL;
    _cleanup_bytes_ struct bytes copy = BYTES_NULL;
    int r = bytes_copy(text, n, &copy);
    if (r < 0)
        return r;
    if (strlen(copy.data) != n || strncmp(copy.data, head, strlen(head)) != 0 ||
        copy.data[n - 1] != '\n')
        return fault_set(fault, "not the list of a rubric's files");
    manifest.files = calloc(RUBRICDIR_FILES_MAX, sizeof(*manifest.files));
    if (!manifest.files)
        return -ENOMEM;
    char *line = copy.data + strlen(head), *end;
    for (; r == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        r = manifest.n == RUBRICDIR_FILES_MAX
                ? fault_set(fault, "more than %d files", RUBRICDIR_FILES_MAX)
                : add_line(&manifest, line, fault);
    }
    if (r == 0)
        *ret = TAKE_STRUCT(manifest, MANIFEST_NULL);
    return r;
}
