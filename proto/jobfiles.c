/* SPDX-License-Identifier: MIT */
#include "jobfiles.h"
#include "base64.h"

#include <string.h>

#define FILE_MODE_DEFAULT 0644
#define FILE_MODE_MAX 0777

/* --- ownership ---------------------------------------------------------------------------- */

void job_files_free(struct sandbox_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].name);
        bytes_deinit(&files[i].content);
    }
    free(files);
}

size_t job_files_size(const struct sandbox_file *files, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += sizeof(files[i]) + text_memory(files[i].name) + bytes_memory(&files[i].content);
    return size;
}

size_t job_files_disk(const struct sandbox_file *files, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += WHOLE_PAGES(files[i].content.length);
    return bytes;
}

/* --- content ------------------------------------------------------------------------------ */

static int decode_base64(const json_t *value, const char *parent, struct bytes *ret,
                         struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    field_path(path, parent, "base64");
    int r = base64_decode(json_string_value(value), json_string_length(value), ret);
    return r == -EINVAL ? fault_set(fault, "%s: not base64 (RFC 4648, with padding)", path) : r;
}

int job_decode_content(const json_t *value, const char *path, struct bytes *ret,
                       struct fault *fault)
{
    static const struct field table[] = {{"base64", FIELD_STRING, FIELD_REQUIRED}};
    const json_t *base64;
    if (json_is_string(value))
        return job_copy_string(value, ret);
    if (!json_is_object(value))
        return fault_set(fault, "%s: expected a string or {\"base64\": ...}, got %s", path,
                         json_type_name(value));
    int r = fields_decode(value, path, table, 1, &base64, fault);
    return r < 0 ? r : decode_base64(base64, path, ret, fault);
}

/* --- files -------------------------------------------------------------------------------- */

/* Takes octal digits in a string: JSON numbers are decimal, so 644 would become 01204. */
static int decode_mode(const json_t *value, const char *parent, unsigned *ret, struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    const char *text = json_string_value(value);
    size_t n = text ? strlen(text) : 0;
    field_path(path, parent, "mode");
    if (n == 0 || n > 4 || n != json_string_length(value) || strspn(text, "01234567") != n ||
        strtoul(text, NULL, 8) > FILE_MODE_MAX)
        return fault_set(fault, "%s: expected octal digits in a string, \"0\" to \"0777\"", path);
    *ret = (unsigned)strtoul(text, NULL, 8);
    return 0;
}

static int decode_file_object(const json_t *value, const char *path, struct sandbox_file *file,
                              struct fault *fault)
{
    enum { TEXT, BASE64, MODE, FIELDS };
    static const struct field table[FIELDS] = {
        [TEXT] = {"text", FIELD_STRING, FIELD_OPTIONAL},
        [BASE64] = {"base64", FIELD_STRING, FIELD_OPTIONAL},
        [MODE] = {"mode", FIELD_ANY, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(value, path, table, FIELDS, values, fault);
    if (r < 0)
        return r;
    if (!values[TEXT] == !values[BASE64])
        return fault_set(fault, "%s: expected either text or base64", path);
    if (values[MODE])
        r = decode_mode(values[MODE], path, &file->mode, fault);
    if (r < 0)
        return r;
    return values[TEXT] ? job_copy_string(values[TEXT], &file->content)
                        : decode_base64(values[BASE64], path, &file->content, fault);
}

bool job_is_file_name(const char *name)
{
    if (strlen(name) > SANDBOX_NAME_MAX)
        return false;
    for (const char *part = name;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || n > SANDBOX_COMPONENT_MAX || (n == 1 && part[0] == '.') ||
            (n == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

static int decode_file(const char *name, const json_t *value, const char *parent,
                       struct sandbox_file *file, struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    field_path(path, parent, name);
    if (!job_is_file_name(name))
        return fault_set(fault,
                         "%s: expected a relative name without empty, . and .. parts, at most %d "
                         "bytes, %d in a part",
                         path, SANDBOX_NAME_MAX, SANDBOX_COMPONENT_MAX);
    file->mode = FILE_MODE_DEFAULT;
    file->name = strdup(name);
    if (!file->name)
        return -ENOMEM;
    if (json_is_string(value))
        return job_copy_string(value, &file->content);
    if (!json_is_object(value))
        return fault_set(fault, "%s: expected a string or an object with text or base64, got %s",
                         path, json_type_name(value));
    return decode_file_object(value, path, file, fault);
}

/* Orders names with '/' before every other character, so that a directory's content follows it. */
static int compare_files(const void *a, const void *b)
{
    const char *x = ((const struct sandbox_file *)a)->name;
    const char *y = ((const struct sandbox_file *)b)->name;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    int left = *x == '/' ? 1 : *x ? (unsigned char)*x + 1 : 0;
    int right = *y == '/' ? 1 : *y ? (unsigned char)*y + 1 : 0;
    return left - right;
}

bool job_file_lies_in(const char *name, const char *outer)
{
    size_t n = strlen(outer);
    return strncmp(name, outer, n) == 0 && (name[n] == '\0' || name[n] == '/');
}

/* Counts the directories that NAME needs and BEFORE, the name before it in order, does not. */
static size_t new_directories(const char *name, const char *before)
{
    size_t count = 0, common = 0;
    while (name[common] && name[common] == before[common])
        common++;
    for (const char *p = name + common; *p; p++)
        count += *p == '/';
    return count;
}

static int check_names(struct sandbox_file *files, size_t count, const char *parent,
                       struct fault *fault)
{
    size_t directories = 0;
    qsort(files, count, sizeof(files[0]), compare_files);
    for (size_t i = 0; i < count; i++) {
        char path[FIELD_PATH_MAX];
        const char *name = files[i].name, *before = i > 0 ? files[i - 1].name : "";
        field_path(path, parent, name);
        if (i > 0 && job_file_lies_in(name, before))
            return fault_set(fault, "%s: \"%.*s\" is a file, too", path, SHOWN(before));
        directories += new_directories(name, before);
    }
    if (directories > SANDBOX_DIRECTORIES_MAX)
        return fault_set(fault, "%s: %zu directories, more than %d", parent, directories,
                         SANDBOX_DIRECTORIES_MAX);
    return 0;
}

int job_decode_files(const json_t *object, const char *path, struct sandbox_file **files,
                     size_t *count, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    size_t n = json_object_size(object);
    if (n > SANDBOX_FILES_MAX)
        return fault_set(fault, "%s: %zu files, more than %d", path, n, SANDBOX_FILES_MAX);
    *files = calloc(n + 1, sizeof(**files));
    if (!*files)
        return -ENOMEM;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        int r = decode_file(json_object_iter_key(i), json_object_iter_value(i), path,
                            &(*files)[(*count)++], fault);
        if (r < 0)
            return r;
    }
    return check_names(*files, *count, path, fault);
}

int job_decode_collect(const json_t *array, char ***ret, struct fault *fault)
{
    size_t n = json_array_size(array);
    if (n > SANDBOX_COLLECT_MAX)
        return fault_set(fault, "job.collect: %zu names, more than %d", n, SANDBOX_COLLECT_MAX);
    int r = job_decode_strings(array, "job.collect", ret, fault);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (!job_is_file_name((*ret)[i]))
            r = fault_set(fault,
                          "job.collect[%zu]: expected a relative name or pattern without empty, . "
                          "and .. parts, at most %d bytes, %d in a part",
                          i, SANDBOX_NAME_MAX, SANDBOX_COMPONENT_MAX);
    return r;
}
