/* SPDX-License-Identifier: MIT */
#include "testfiles.h"
#include "testnames.h"

#include "client/cli/files.h"

#include <ctype.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#define READ_SIZE ((size_t)65536)

void test_files_deinit(struct test_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free(files->names[i]);
    free(files->names);
    free(files->position);
    free(files->path);
    if (files->archive)
        (void)unzClose(files->archive);
    few_names_deinit(&files->passed);
    few_names_deinit(&files->leaving);
    *files = (struct test_files)TEST_FILES_NULL;
}

/* --- listing ------------------------------------------------------------------------------- */

static bool is_plain(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ')
            return false;
    return true;
}

/* Notes NAME, which may be a test's and is not listed. 0 or -ENOMEM. */
static int pass_over(struct test_files *files, const char *name)
{
    return test_name_is_other(name) ? 0 : few_names_add(&files->passed, name);
}

/* Appends NAME, unless it can be no test's. 1, 0 if it was left out, or negative errno with FAULT.
 */
static int add_name(struct test_files *files, const char *name, struct fault *fault)
{
    if (!is_plain(name) || strlen(name) > TEST_NAME_MAX)
        return pass_over(files, name);
    if (files->n == TEST_FILES_MAX) {
        (void)fault_set(fault, "%s: more than %d files", files->path, TEST_FILES_MAX);
        return -E2BIG;
    }
    if ((files->n & (files->n - 1)) == 0) { /* it is full at each power of two */
        char **grown = reallocarray(files->names, 2 * files->n + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        files->names = grown;
    }
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    files->names[files->n++] = copy;
    return 1;
}

/* Takes what fts_read() found. */
static int take_entry(FTS *walk, FTSENT *entry, struct test_files *files, struct fault *fault)
{
    struct stat st;
    const char *name = entry->fts_path + strlen(files->path);
    bool hidden = entry->fts_level > 0 && entry->fts_name[0] == '.';
    while (*name == '/')
        name++;
    if (entry->fts_info == FTS_D && (hidden || entry->fts_level >= TEST_FILES_DEPTH)) {
        int r = hidden ? 0 : pass_over(files, name);
        return r < 0 ? r : fts_set(walk, entry, FTS_SKIP);
    }
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
        (void)fault_set(fault, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
        return -entry->fts_errno;
    }
    bool file =
        entry->fts_info == FTS_F ||
        (entry->fts_info == FTS_SL && stat(entry->fts_accpath, &st) == 0 && S_ISREG(st.st_mode));
    if (hidden || entry->fts_info == FTS_D || entry->fts_info == FTS_DP ||
        entry->fts_info == FTS_DC)
        return 0;
    return file ? add_name(files, name, fault) : pass_over(files, name);
}

static int list_folder(struct test_files *files, struct fault *fault)
{
    char *const roots[] = {files->path, NULL};
    FTS *walk = fts_open(roots, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!walk)
        return -errno;
    int r = 0;
    FTSENT *entry;
    while (r >= 0 && (errno = 0, entry = fts_read(walk)))
        r = take_entry(walk, entry, files, fault);
    if (r >= 0 && errno != 0)
        r = -errno;
    (void)fts_close(walk);
    return MIN(r, 0);
}

static int bad_archive(const struct test_files *files, struct fault *fault)
{
    (void)fault_set(fault, "%s: it is no folder, and no zip archive that can be read", files->path);
    return -EINVAL;
}

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* Whether the path NAME leads out of the folder that an archive is unpacked in, here or elsewhere.
 */
static bool leads_out(const char *name)
{
    if (is_separator(*name) ||
        (isalpha((unsigned char)*name) && name[1] == ':' && is_separator(name[2])))
        return true;
    for (const char *part = name; part; part = strpbrk(part, "/\\")) {
        part += is_separator(*part);
        if (strncmp(part, "..", 2) == 0 && (!part[2] || is_separator(part[2])))
            return true;
    }
    return false;
}

/* Takes the entry at which the archive stands. */
static int take_archived(struct test_files *files, struct fault *fault)
{
    char name[TEST_NAME_MAX + 2];
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(files->archive, &info, name, sizeof(name), NULL, 0, NULL, 0) !=
        UNZ_OK)
        return bad_archive(files, fault);
    name[MIN(info.size_filename, (uLong)TEST_NAME_MAX + 1)] = '\0';
    if (strlen(name) != info.size_filename) /* too long, or with a NUL */
        return pass_over(files, name);
    if (info.size_filename == 0 || name[info.size_filename - 1] == '/') /* a folder */
        return 0;
    if (leads_out(name))
        return few_names_add(&files->leaving, name);
    size_t n = files->n;
    int r = add_name(files, strncmp(name, "./", 2) == 0 ? name + 2 : name, fault);
    if (r <= 0)
        return r;
    if ((n & (n - 1)) == 0) {
        unz64_file_pos *grown = reallocarray(files->position, 2 * n + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        files->position = grown;
    }
    return unzGetFilePos64(files->archive, &files->position[n]) == UNZ_OK
               ? 0
               : bad_archive(files, fault);
}

static int list_archive(struct test_files *files, struct fault *fault)
{
    files->archive = unzOpen64(files->path);
    if (!files->archive)
        return bad_archive(files, fault);
    int r = unzGoToFirstFile(files->archive);
    while (r == UNZ_OK) {
        int taken = take_archived(files, fault);
        if (taken < 0)
            return taken;
        r = unzGoToNextFile(files->archive);
    }
    if (r != UNZ_END_OF_LIST_OF_FILE)
        return bad_archive(files, fault);
    char names[FEW_NAMES_TEXT];
    return files->leaving.n == 0
               ? 0
               : fault_set(fault, "%s: %s lead%s out of the archive; tests have names within it",
                           files->path, few_names_text(&files->leaving, names),
                           files->leaving.n == 1 ? "s" : "");
}

int test_files_open(const char *path, struct test_files *ret, struct fault *fault)
{
    _cleanup_test_files_ struct test_files files = TEST_FILES_NULL;
    struct stat st;
    if (stat(path, &st) < 0) {
        int error = errno;
        (void)fault_set(fault, "%s: %s", path, strerror(error));
        return -error;
    }
    files.path = strdup(path);
    if (!files.path)
        return -ENOMEM;
    int r = S_ISDIR(st.st_mode) ? list_folder(&files, fault) : list_archive(&files, fault);
    if (r == 0)
        *ret = TAKE_STRUCT(files, TEST_FILES_NULL);
    return r;
}

/* --- reading ------------------------------------------------------------------------------- */

/* Reads what is left of the entry that is open. The archive's word for its size counts for
 * nothing: a few bytes may become very many. */
static int read_entry(unzFile archive, size_t max, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes all = BYTES_NULL;
    for (size_t room = 0;;) {
        if (room - all.length < READ_SIZE) {
            room = MAX(2 * room, 2 * READ_SIZE);
            char *grown = realloc(all.data, room + 1);
            if (!grown)
                return -ENOMEM;
            all.data = grown;
        }
        int n = unzReadCurrentFile(archive, all.data + all.length, READ_SIZE);
        if (n < 0)
            return -EBADMSG;
        if (n == 0)
            break;
        all.length += (size_t)n;
        if (all.length > max)
            return -EFBIG;
    }
    all.data[all.length] = '\0';
    *ret = TAKE_STRUCT(all, BYTES_NULL);
    return 0;
}

static int read_archived(struct test_files *files, size_t i, size_t max, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes content = BYTES_NULL;
    unz_file_info64 info;
    if (unzGoToFilePos64(files->archive, &files->position[i]) != UNZ_OK ||
        unzGetCurrentFileInfo64(files->archive, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK)
        return -EBADMSG;
    if (info.flag & 1)
        return -EACCES;
    /* minizip may hand out the bytes of other methods as they are. */
    if ((info.compression_method != 0 && info.compression_method != Z_DEFLATED) ||
        unzOpenCurrentFile(files->archive) != UNZ_OK)
        return -EBADMSG;
    int r = read_entry(files->archive, max, &content);
    /* It compares the checksum if all was read. */
    if (unzCloseCurrentFile(files->archive) != UNZ_OK && r == 0)
        r = -EBADMSG;
    if (r == 0)
        *ret = TAKE_STRUCT(content, BYTES_NULL);
    return r;
}

static const char *describe(int error)
{
    if (error == EBADMSG)
        return "its archive is damaged, or compressed in a way that is not known";
    return error == EACCES ? "it is encrypted" : strerror(error);
}

int test_files_read(struct test_files *files, size_t i, size_t max, struct bytes *ret,
                    struct fault *fault)
{
    if (files->archive) {
        int r = read_archived(files, i, max, ret);
        if (r < 0)
            (void)fault_set(fault, "%s: %s: %s", files->path, files->names[i], describe(-r));
        return r;
    }
    _cleanup_free_ char *path = NULL;
    if (asprintf(&path, "%s/%s", files->path, files->names[i]) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    return file_read_all(path, max, ret, fault);
}
