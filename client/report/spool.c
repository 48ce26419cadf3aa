/* SPDX-License-Identifier: MIT */
#include "spool.h"

#include "proto/utf8.h"
#include "proto/util.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The lengths of the two texts, which follow. */
struct head {
    uint32_t detail, output;
};
#define NO_TEXT UINT32_MAX

static const char *directory(void)
{
    const char *chosen = getenv("TMPDIR");
    return chosen && *chosen ? chosen : "/tmp";
}

static int give_up(struct fault *fault, int error)
{
    (void)fault_set(
        fault, "%s: cannot keep the messages of failures there: %s (TMPDIR names another place)",
        directory(), strerror(error));
    return -EIO;
}

int spool_open(struct spool *spool, struct fault *fault)
{
    int fd = open(directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* not every file system can do that */
        char path[4096];
        int n = snprintf(path, sizeof(path), "%s/rubricctl.XXXXXX", directory());
        fd = n < (int)sizeof(path) ? mkostemp(path, O_CLOEXEC) : -1;
        if (fd >= 0)
            (void)unlink(path);
    }
    if (fd < 0)
        return give_up(fault, errno);
    spool->file = fdopen(fd, "w+");
    if (!spool->file) {
        close_fd(fd);
        return give_up(fault, ENOMEM);
    }
    return 0;
}

void spool_close(struct spool *spool)
{
    if (spool->file)
        (void)fclose(spool->file);
    *spool = (struct spool)SPOOL_NULL;
}

static bool put(struct spool *spool, const void *data, size_t n)
{
    spool->end += n;
    return fwrite(data, 1, n, spool->file) == n;
}

int spool_put(struct spool *spool, const struct reason *reason, uint64_t *ret, struct fault *fault)
{
    size_t detail = reason->detail
                        ? utf8_cut(reason->detail, strlen(reason->detail), EXAMPLES_DETAIL_MAX)
                        : 0,
           output = reason->output ? strlen(reason->output) : 0;
    const struct head head = {
        .detail = reason->detail ? (uint32_t)detail : NO_TEXT,
        .output = reason->output ? (uint32_t)output : NO_TEXT,
    };
    uint64_t at = spool->end;
    errno = 0;
    if (!put(spool, &head, sizeof(head)) || (detail && !put(spool, reason->detail, detail)) ||
        (output && !put(spool, reason->output, output)))
        return give_up(fault, errno ? errno : EIO);
    *ret = at;
    return 0;
}

static int get_text(struct spool *spool, uint32_t n, char **ret)
{
    if (n == NO_TEXT)
        return 0;
    char *text = malloc((size_t)n + 1);
    if (!text)
        return -ENOMEM;
    if (fread(text, 1, n, spool->file) != n) {
        free(text);
        return -EIO;
    }
    text[n] = '\0';
    *ret = text;
    return 0;
}

int spool_get(struct spool *spool, uint64_t at, char **ret_detail, char **ret_output)
{
    _cleanup_free_ char *detail = NULL, *output = NULL;
    struct head head;
    /* Also writes what the buffer holds. */
    if (fseeko(spool->file, (off_t)at, SEEK_SET) < 0 ||
        fread(&head, sizeof(head), 1, spool->file) != 1)
        return -EIO;
    int r = get_text(spool, head.detail, &detail);
    if (r == 0)
        r = get_text(spool, head.output, &output);
    if (r == 0) {
        *ret_detail = TAKE_PTR(detail);
        *ret_output = TAKE_PTR(output);
    }
    return r;
}
