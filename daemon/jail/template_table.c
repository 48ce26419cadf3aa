/* SPDX-License-Identifier: MIT */
#include "template_table.h"
#include "children.h"

#include "proto/util.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

int templates_init(struct templates *templates, const struct link_setup *setup)
{
    const size_t n = TEMPLATES_MAX * sizeof(*templates->of);
    void *of = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (of == MAP_FAILED)
        return -errno;
    /* No fork is to know which classes the jail has served. */
    if (madvise(of, n, MADV_WIPEONFORK) < 0) {
        int r = -errno;
        (void)munmap(of, n);
        return r;
    }
    *templates = (struct templates){
        .of = of,
        .max = MIN(setup->templates, (uint32_t)TEMPLATES_MAX),
        .bytes_max = setup->template_bytes,
    };
    return 0;
}

bool template_lives(const struct template *template)
{
    struct pollfd end = {.fd = template->pidfd, .events = POLLIN};
    return template->used > 0 && template->pid > 0 && poll(&end, 1, 0) == 0;
}

static void forget(struct template *template)
{
    if (template->used > 0 && template->pid > 0) {
        close_fd(template->pidfd);
        close_fd(template->link);
    }
    explicit_bzero(template, sizeof(*template));
}

void template_end(struct template *template)
{
    struct children_usage ignored = {0};
    if (template_lives(template)) {
        (void)kill(template->pid, SIGKILL);
        (void)children_reap(template->pid, &ignored);
    } else if (template->used > 0 && template->pid > 0) {
        (void)waitpid(template->pid, NULL, __WALL | WNOHANG); /* unless that is done */
    }
    forget(template);
}

/* Those limits of a job that its process has from its template. */
static struct limits inherited(const struct link_job *request)
{
    struct limits limits = request->limits;
    limits.of[LIMIT_WALL_CLOCK] = limits.of[LIMIT_OUTPUT] = 0;
    return limits;
}

static bool is_for(const struct template *template, const struct link_job *request)
{
    const struct limits limits = inherited(request);
    return template->used > 0 &&
           memcmp(template->digest, request->class_digest, sizeof(template->digest)) == 0 &&
           template->bench_device == request->bench_device &&
           template->bench_inode == request->bench_inode &&
           memcmp(&template->limits, &limits, sizeof(limits)) == 0;
}

struct template *templates_find(struct templates *templates, const struct link_job *request)
{
    struct template *found = NULL;
    templates_tidy(templates); /* one may have used up its CPU time by forking */
    for (size_t i = 0; i < TEMPLATES_MAX; i++)
        if (is_for(&templates->of[i], request))
            found = &templates->of[i];
    return found;
}

/* The entry that was used longest ago, but KEPT (NULL: any); only of those with a template if
 * THAT_LIVE. NULL: there is none. */
static struct template *oldest(struct templates *templates, const struct template *kept,
                               bool that_live)
{
    struct template *found = NULL;
    for (size_t i = 0; i < TEMPLATES_MAX; i++) {
        struct template *template = &templates->of[i];
        bool counts = that_live ? template->used > 0 && template->pid > 0 : true;
        if (counts && template != kept && (!found || template->used < found->used))
            found = template;
    }
    return found;
}

unsigned templates_count(const struct templates *templates)
{
    unsigned count = 0;
    for (size_t i = 0; templates->of && i < TEMPLATES_MAX; i++)
        count += templates->of[i].used > 0 && templates->of[i].pid > 0;
    return count;
}

size_t templates_links(const struct templates *templates, int ret[TEMPLATES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; templates->of && i < TEMPLATES_MAX; i++)
        if (templates->of[i].used > 0 && templates->of[i].pid > 0)
            ret[n++] = templates->of[i].link;
    return n;
}

const pid_t *templates_apart(struct templates *templates, pid_t twin)
{
    size_t n = 0;
    if (twin > 0)
        templates->apart[n++] = twin;
    for (size_t i = 0; templates->of && i < TEMPLATES_MAX; i++)
        if (templates->of[i].used > 0 && templates->of[i].pid > 0)
            templates->apart[n++] = templates->of[i].pid;
    templates->apart[n] = 0;
    return templates->apart;
}

static uint64_t bytes_of_all(const struct templates *templates)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < TEMPLATES_MAX; i++)
        bytes += templates->of[i].used > 0 ? templates->of[i].bytes : 0;
    return bytes;
}

void templates_tidy(struct templates *templates)
{
    for (size_t i = 0; templates->of && i < TEMPLATES_MAX; i++) {
        struct template *template = &templates->of[i];
        if (template->used > 0 && template->pid > 0 && !template_lives(template))
            template_end(template);
    }
}

struct template *templates_add(struct templates *templates, const struct link_job *request)
{
    struct template *template = templates_find(templates, request);
    unsigned failures = template ? template->failures : 0;
    if (!template)
        template = oldest(templates, NULL, false);
    template_end(template);
    *template = (struct template){
        .used = ++templates->uses,
        .failures = failures,
        .pidfd = -1,
        .link = -1,
        .bench_device = request->bench_device,
        .bench_inode = request->bench_inode,
        .limits = inherited(request),
    };
    memcpy(template->digest, request->class_digest, sizeof(template->digest));
    return template;
}

void templates_make_room(struct templates *templates, const struct template *kept)
{
    while (templates_count(templates) > templates->max ||
           bytes_of_all(templates) > templates->bytes_max) {
        struct template *last = oldest(templates, kept, true);
        if (!last)
            return;
        template_end(last);
    }
}
