/* SPDX-License-Identifier: MIT */
/* Tests what jails of one configuration share, with the real jail programs: whether an interpreter
 * waits in them, why not, which program they run, and that nothing is left of all the asking. */
#include "daemon/confine/confinement.h"
#include "daemon/confine/isolation.h"
#include "daemon/jail/link.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

struct fixture {
    char top[32];
    char probe[64]; /* the directory of the probe's jail */
    size_t descriptors;
    struct config config;
    struct confinement_host host;
    struct confinement *confinement;
    char *version;
    struct fault fault;
};

/* --- asking ------------------------------------------------------------------------------- */

/* Built beside this program. */
static int open_beside(const char *program)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    char *name = strrchr(path, '/');
    (void)snprintf(name, sizeof(path) - (size_t)(name - path), "/../../daemon/%s", program);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* As the daemon, which is not root when it starts jails. */
static int step_down(void)
{
    if (geteuid() == 0)
        CHECK(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
              prctl(PR_SET_DUMPABLE, 1) == 0);
    return 0;
}

static int set_up(struct fixture *f)
{
    struct version_query query;
    *f = (struct fixture){.config = CONFIG_NULL};
    f->host = (struct confinement_host){
        .jail_program = open_beside("rubricd-jail"),
        .warm_program = open_beside("rubricd-jail-warm"),
        .code = -1,
        .no_cgroups = "there are none for this test",
    };
    CHECK(f->host.jail_program >= 0);
    if (f->host.warm_program < 0)
        SKIP("there is no rubricd-jail-warm");
    CHECK(step_down() == 0 && config_init(&f->config) == 0);
    strcpy(f->top, "/tmp/test_confinement.XXXXXX");
    CHECK(mkdtemp(f->top));
    (void)snprintf(f->probe, sizeof(f->probe), "%s/probe", f->top);
    free(f->config.work_dir);
    CHECK((f->config.work_dir = strdup(f->top)));
    f->config.idmap_socket[0] = '\0';
    CHECK(isolation_version_begin(f->config.interpreter, &query, NULL) == 0);
    CHECK((f->version = isolation_version_end(&query, f->config.interpreter, NULL)));
    f->descriptors = count_descriptors();
    return 0;
}

static int set_without(struct fixture *f, const char *layer)
{
    string_list_deinit(&f->config.without);
    f->config.without = (struct string_list){0};
    return string_list_add(&f->config.without, layer);
}

static int make(struct fixture *f)
{
    int r = confinement_new(&f->config, &f->host, f->probe, &f->confinement, &f->fault);
    if (r == 0)
        r = confinement_warm_up(f->confinement, &f->config, &f->host, f->version, f->probe,
                                &f->fault);
    if (r < 0)
        (void)fprintf(stderr, "%s\n", f->fault.text);
    return r;
}

/* Neither a process nor a descriptor is left when nobody refers to the confinement. */
static int drop(struct fixture *f)
{
    f->confinement = confinement_unref(f->confinement);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    CHECK_EQUAL(count_descriptors(), f->descriptors);
    return 0;
}

static int tear_down(struct fixture *f)
{
    close_fd(f->host.jail_program);
    close_fd(f->host.warm_program);
    config_deinit(&f->config);
    free(f->version);
    remove_tree(f->top);
    return 0;
}

/* SKIPPED if the host does not grant what a zygote takes. */
static int need_namespaces(const struct fixture *f)
{
    if (!confinement_has(f->confinement, LAYER_PID_NAMESPACE) ||
        !confinement_has(f->confinement, LAYER_MOUNT_NAMESPACE))
        SKIP("this host does not grant the namespaces");
    return 0;
}

/* --- whether an interpreter waits --------------------------------------------------------- */

static int an_interpreter_waits(void)
{
    struct fixture f;
    int r = set_up(&f);
    if (r != 0)
        return r;
    CHECK(make(&f) == 0);
    if ((r = need_namespaces(&f)) != 0)
        return r;
    CHECK(strcmp(confinement_cold_because(f.confinement), "") == 0);
    CHECK(f.confinement->probe.is_warm && confinement_zygote(f.confinement) > 0);
    CHECK(confinement_is_eager(f.confinement) && !confinement_leaves_orphans(f.confinement));
    return drop(&f) || tear_down(&f);
}

/* Jails start an interpreter of their own where jobs could reach a zygote. */
static int without_a_zygote(void)
{
    static const char *const layers[] = {"pid_namespace", "mount_namespace"};
    struct fixture f;
    int r = set_up(&f);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(layers); i++) {
        CHECK(set_without(&f, layers[i]) == 0 && make(&f) == 0);
        CHECK_EQUAL(confinement_zygote(f.confinement), 0);
        CHECK(f.confinement->probe.is_warm && *confinement_cold_because(f.confinement) == '\0');
        CHECK(i != 0 || !confinement_has(f.confinement, LAYER_PID_NAMESPACE));
        CHECK_EQUAL(confinement_leaves_orphans(f.confinement),
                    !confinement_has(f.confinement, LAYER_PID_NAMESPACE));
        r = drop(&f);
    }
    return r != 0 ? r : tear_down(&f);
}

static int expect_cold(struct fixture *f, const char *because)
{
    CHECK(make(f) == 0);
    if (strcmp(confinement_cold_because(f->confinement), because) != 0) {
        (void)fprintf(stderr, "\"%s\" instead of \"%s\"\n",
                      confinement_cold_because(f->confinement), because);
        return 1;
    }
    CHECK_EQUAL(confinement_zygote(f->confinement), 0);
    CHECK(!f->confinement->probe.is_warm && f->confinement->probe.layers != 0);
    CHECK_EQUAL(f->confinement->jail.program, f->host.jail_program);
    return drop(f);
}

static int cold_jails_say_why(void)
{
    struct fixture f;
    int r = set_up(&f);
    if (r != 0)
        return r;
    int program = f.host.warm_program;
    f.host.warm_program = -ENOENT;
    CHECK(expect_cold(&f, "rubricd-jail-warm does not stand beside rubricd-jail") == 0);
    f.host.warm_program = -EACCES;
    CHECK(expect_cold(&f, "Permission denied") == 0);
    f.host.warm_program = open("/bin/true", O_RDONLY | O_CLOEXEC);
    f.descriptors++;
    CHECK(expect_cold(&f, "rubricd-jail-warm does not start: is its libpython installed?") == 0);
    close_fd(f.host.warm_program);
    f.descriptors--;
    f.host.warm_program = program;
    f.config.warm = CONFIG_WARM_NO;
    CHECK(expect_cold(&f, "switched off by [warm] use") == 0);
    return tear_down(&f);
}

/* --- which program runs ------------------------------------------------------------------- */

static int copy_program(int from, const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    CHECK(fd >= 0 && fstat(from, &st) == 0 && lseek(from, 0, SEEK_SET) == 0);
    CHECK(sendfile(fd, from, NULL, (size_t)st.st_size) == st.st_size);
    close_fd(fd);
    return 0;
}

/* The program that was opened runs, even if another file of its file system has the name that the
 * kernel tells for it by now. */
static int the_opened_program_runs(void)
{
    struct fixture f;
    char path[64], told[80];
    int r = set_up(&f);
    if (r != 0)
        return r;
    (void)snprintf(path, sizeof(path), "%s/program", f.top);
    (void)snprintf(told, sizeof(told), "%s (deleted)", path);
    CHECK(copy_program(f.host.warm_program, path) == 0);
    close_fd(f.host.warm_program);
    f.host.warm_program = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(f.host.warm_program >= 0 && unlink(path) == 0);
    CHECK(copy_program(f.host.jail_program, told) == 0);
    CHECK(make(&f) == 0);
    if ((r = need_namespaces(&f)) != 0)
        return r;
    CHECK(f.confinement->probe.is_warm && confinement_zygote(f.confinement) > 0);
    return drop(&f) || tear_down(&f);
}

/* A jail has an interpreter if that is wished, and its directory is its slot's. */
static int jails_are_as_wished(void)
{
    struct fixture f;
    struct jailproc jail;
    char longest[5000];
    int r = set_up(&f);
    if (r != 0)
        return r;
    CHECK(make(&f) == 0);
    for (unsigned i = 0; i < 4; i++) {
        const struct jail_wish wish = {.networked = i & 1, .warm = i & 2};
        CHECK_EQUAL(confinement_spawn(f.confinement, &wish, f.top, i, &jail), 0);
        struct pollfd ready = {.fd = jail.link_fd, .events = POLLIN};
        struct link_notice notice;
        CHECK(poll(&ready, 1, 30000) == 1 && recv(jail.link_fd, &notice, sizeof(notice), 0) > 0);
        CHECK_EQUAL(notice.type, LINK_READY);
        CHECK_EQUAL(notice.warm, wish.warm);
        CHECK_EQUAL(notice.layers, confinement_shape(f.confinement, wish.networked)->layers);
        close_fd(jail.link_fd);
        CHECK(waitpid(jail.pid, NULL, 0) == jail.pid);
        close_fd(jail.pidfd);
    }
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    CHECK_EQUAL(confinement_spawn(f.confinement, &(struct jail_wish){0}, longest, 0, &jail),
                -ENAMETOOLONG);
    return drop(&f) || tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(an_interpreter_waits), SCENARIO(without_a_zygote),
        SCENARIO(cold_jails_say_why),   SCENARIO(the_opened_program_runs),
        SCENARIO(jails_are_as_wished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
