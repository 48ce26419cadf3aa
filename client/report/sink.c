/* SPDX-License-Identifier: MIT */
#include "sink.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int open_stream(struct sink *sink, struct fault *fault)
{
    _cleanup_close_ int fd = mkostemp(sink->temporary, O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        sink->temporary[0] = '\0';
        return fault_set(fault, "cannot write %s: %s", sink->path, strerror(error));
    }
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask); /* as any new file; mkostemp() makes it private */
    sink->stream = fdopen(fd, "w");
    if (!sink->stream)
        return fault_set(fault, "cannot write %s: %s", sink->path, strerror(errno));
    fd = -1;
    return 0;
}

int sink_open(struct sink *sink, const char *path, bool force, struct fault *fault)
{
    struct stat st;
    assert(!sink->stream && !sink->path);
    bool exists = lstat(path, &st) == 0;
    if (exists && !force)
        return fault_set(fault, "%s already exists; --force overwrites it", path);
    if (exists && S_ISDIR(st.st_mode))
        return fault_set(fault, "cannot write %s: %s", path, strerror(EISDIR));
    sink->path = strdup(path);
    bool in_place = exists && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode);
    if (!sink->path || (!in_place && asprintf(&sink->temporary, "%s.XXXXXX", path) < 0)) {
        sink->temporary = NULL; /* asprintf() leaves it undefined */
        return fault_set(fault, "out of memory");
    }
    if (!in_place)
        return open_stream(sink, fault);
    sink->stream = fopen(path, "we");
    return sink->stream ? 0 : fault_set(fault, "cannot write %s: %s", path, strerror(errno));
}

int sink_commit(struct sink *sink, struct fault *fault)
{
    assert(sink->stream);
    bool good = fflush(sink->stream) == 0 && !ferror(sink->stream);
    if (good && sink->temporary)
        good = fsync(fileno(sink->stream)) == 0;
    int error = errno;
    FILE *stream = TAKE_PTR(sink->stream);
    good = fclose(stream) == 0 && good;
    if (good && sink->temporary && rename(sink->temporary, sink->path) < 0) {
        error = errno;
        good = false;
    }
    if (!good)
        return fault_set(fault, "cannot write %s: %s", sink->path, strerror(error));
    free(TAKE_PTR(sink->temporary));
    return 0;
}

void sink_close(struct sink *sink)
{
    if (sink->stream)
        (void)fclose(sink->stream);
    if (sink->temporary && sink->temporary[0])
        (void)unlink(sink->temporary);
    free(sink->temporary);
    free(sink->path);
    *sink = (struct sink)SINK_NULL;
}
