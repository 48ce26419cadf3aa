/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "rubric_place.h"
#include "rubric_template.h"

#include "client/terminal/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>

/* Makes PATH and the folders above it that are missing. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (r < 0)
            return r;
    }
    return mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static void put_text(FILE *out, const char *text, const char *name)
{
    for (const char *mark; (mark = strstr(text, RUBRIC_TEMPLATE_NAME)) != NULL;
         text = mark + strlen(RUBRIC_TEMPLATE_NAME)) {
        (void)fwrite(text, 1, (size_t)(mark - text), out);
        (void)fputs(name, out);
    }
    (void)fputs(text, out);
}

/* Writes one file into FOLDER, where none of that name may be. */
static int put_file(int folder, const struct rubric_template *file, const char *name)
{
    int fd = openat(folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close_fd(fd);
        return -ENOMEM;
    }
    put_text(out, file->text, name);
    bool bad = ferror(out);
    return fclose(out) != 0 || bad ? -EIO : 0;
}

/* Writes all files, or none: what was written before a failure is removed again. */
static int put_files(int folder, const char *path, const char *name)
{
    for (size_t i = 0; i < n_rubric_templates; i++) {
        int r = put_file(folder, &rubric_templates[i], name);
        if (r == 0)
            continue;
        complain("%s/%s: %s; nothing was written", path, rubric_templates[i].name, strerror(-r));
        for (size_t k = r == -EEXIST ? i : i + 1; k-- > 0;)
            (void)unlinkat(folder, rubric_templates[k].name, 0);
        return r;
    }
    return 0;
}

/* The file that is written last must not be found there after the others have been written. */
static bool is_free(int folder, const char *path)
{
    for (size_t i = 0; i < n_rubric_templates; i++) {
        if (faccessat(folder, rubric_templates[i].name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            complain("%s/%s exists; nothing was written", path, rubric_templates[i].name);
            return false;
        }
    }
    return true;
}

/* Warns, and returns true, if the account that a private daemon takes when root starts it, which is
 * that of the service, cannot come to DIR: a folder above it, a home for instance, is closed. */
static bool warn_if_closed(const char *dir)
{
    struct stat st;
    _cleanup_free_ char *path = realpath(dir, NULL);
    if (!path || geteuid() != 0)
        return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_closed = stat(path, &st) == 0 && !(st.st_mode & S_IXOTH);
        if (is_closed)
            complain(
                "%s is closed to other accounts (mode %04o), and rubricd does not run as root: "
                "it will not read this bench. Move it, to /srv for instance, or open %s with "
                "chmod o+x",
                path, st.st_mode & 07777, path);
        *slash = '/';
        if (is_closed)
            return true;
    }
    return false;
}

static void tell(const char *path, bool is_closed)
{
    for (size_t i = 0; i < n_rubric_templates; i++)
        (void)printf("%s/%s\n", path, rubric_templates[i].name);
    (void)fflush(stdout); /* the names come before what follows, wherever both go */
    complain("next: %schange rubric.py and its cases, then",
             is_closed ? "move the bench or open the folder above, " : "");
    complain("  python3 %s/test_rubric.py", path);
    complain("  rubricctl check-rubric %s", path);
    complain("man 7 rubricd-rubric says what a rubric reads and prints");
}

static enum exit_status run_new_rubric(_unused_ const struct globals *globals,
                                       _unused_ const void *options,
                                       const struct text_list *arguments)
{
    _cleanup_free_ char *path = NULL;
    const char *name;
    struct fault fault = FAULT_NULL;
    int r = rubric_place(arguments->items[0], &path, &name, &fault);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return STATUS_USAGE;
    }
    r = make_folders(path);
    _cleanup_close_ int folder = r < 0 ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        complain("%s: %s", path, strerror(r < 0 ? -r : errno));
        return STATUS_USAGE;
    }
    if (!is_free(folder, path))
        return STATUS_USAGE;
    if (put_files(folder, path, name) < 0)
        return STATUS_UNWRITTEN;
    bool is_closed = warn_if_closed(arguments->items[0]);
    tell(arguments->items[0], is_closed);
    return STATUS_OK;
}

const struct command command_new_rubric = {
    .name = "new-rubric",
    .arguments = "DIR",
    .argument_value = VALUE_DIRECTORY,
    .arguments_min = 1,
    .arguments_max = 1,
    .brief = "write the files of a new rubric, to start from",
    .description =
        "Makes the folder DIR and writes a task class into it that works as it is:\n"
        "rubric.py, which grades an answer; task_class.json, which lists the breakdown keys\n"
        "and failure modes that it may report; cases.jsonl with three cases and\n"
        "expected.jsonl with their verdicts; and test_rubric.py, which compares the two\n"
        "without a daemon. The last part of DIR is the name of the task class, and the\n"
        "folder above it the bench root.\n"
        "\n"
        "Prints the names of the files. Overwrites nothing: if one of them exists, none is\n"
        "written. It needs no daemon. Started by root, it warns if the daemon's account cannot\n"
        "come to DIR, as below /root: name a folder that others may enter, as in\n"
        "/srv/bench/my-class. rubricd-rubric(7) says what a rubric reads and prints.\n",
    .examples = "  rubricctl new-rubric bench/my-class\n"
                "  rubricctl check-rubric bench/my-class\n"
                "  rubricctl batch --embedded -b bench bench/my-class/cases.jsonl\n"
                "  man 7 rubricd-rubric\n"
                "  less " RUBRICD_BENCH "/README.md\n",
    .exits = "  0    the files were written\n"
             "  2    wrong usage, a name that no task class can have, or files that exist\n"
             "  6    a file could not be written\n",
    .run = run_new_rubric,
};
