/* SPDX-License-Identifier: MIT */
/* Tests which layers the host grants, by the real rubricd-jail: with everything, without each
 * layer, and where the host refuses user namespaces, Landlock or seccomp. This program itself plays
 * a jail that is missing, dies or lies. */
#include "daemon/confine/probe.h"
#include "daemon/jail/link.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define NO_CGROUPS "there are none for this test"

#define BIT(name) LAYER_BIT(LAYER_##name)
#define NAMESPACES (BIT(USER_NAMESPACE) | NEEDS_USER_NAMESPACE)
#define NEEDS_USER_NAMESPACE (BIT(PID_NAMESPACE) | BIT(MOUNT_NAMESPACE) | BIT(NET_NAMESPACE))
#define WANTED (LAYERS_ALL & ~BIT(CGROUP))

/* --- asking ------------------------------------------------------------------------------- */

/* Built beside this program. */
static int open_jail(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    char *name = strrchr(path, '/');
    (void)snprintf(name, sizeof(path) - (size_t)(name - path), "/../../daemon/rubricd-jail");
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The directory of the probe's jail, which this user can make. NAME says what a jail played by this
 * program does. */
static const char *directory_of(const char *name)
{
    static char path[64];
    (void)snprintf(path, sizeof(path), "/tmp/test_probe.%d.%s", (int)getpid(), name);
    return path;
}

/* Probes with PROGRAM and checks that nothing is left but PROBE. */
static int probe_with(int program, uint32_t without, const char *name, struct probe *probe,
                      struct fault *fault)
{
    const struct jailproc_config config = {.program = program, .code = -1};
    struct stat st;
    size_t descriptors = count_descriptors();
    memset(probe, 0x5A, sizeof(*probe));
    int r = probe_jails(probe, &config, without, NO_CGROUPS, directory_of(name), fault);
    CHECK(stat(directory_of(name), &st) < 0 && errno == ENOENT);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* no zombie, no jail */
    /* One descriptor per filter, no more. */
    CHECK_EQUAL(count_descriptors(),
                descriptors + (probe->shape.filter >= 0) + (probe->networked.filter >= 0));
    return r;
}

static int is_closed(struct probe *probe, size_t descriptors)
{
    probe_deinit(probe);
    CHECK(probe->shape.filter == -1 && probe->networked.filter == -1);
    CHECK_EQUAL(count_descriptors(), descriptors);
    return 0;
}

/* The shapes of later jails agree with the layers in force. */
static int check_shapes(const struct probe *probe)
{
    uint32_t networked = layers_consistent(probe->layers & ~BIT(NETWORK) & ~BIT(NET_NAMESPACE));
    CHECK(layers_consistent(probe->layers) == probe->layers);
    CHECK_EQUAL(probe->shape.layers, probe->layers);
    CHECK_EQUAL(probe->networked.layers, networked);
    CHECK_EQUAL(probe->shape.filter >= 0, layer_in(probe->layers, LAYER_SECCOMP));
    CHECK_EQUAL(probe->networked.filter >= 0, layer_in(networked, LAYER_SECCOMP));
    return 0;
}

/* Every layer that is missing has a reason. */
static int check_reasons(const struct probe *probe)
{
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        const char *reason = probe->missing_because[layer];
        CHECK(strnlen(reason, PROBE_REASON_MAX) < PROBE_REASON_MAX);
        if (!layer_in(probe->layers, layer) && !*reason) {
            (void)fprintf(stderr, "no reason why %s is missing\n", layer_name(layer));
            return 1;
        }
    }
    return 0;
}

static int check_reason(const struct probe *probe, enum layer layer, const char *expected)
{
    const char *reason = probe->missing_because[layer];
    if (!strstr(reason, expected)) {
        (void)fprintf(stderr, "%s: \"%s\", expected \"%s\"\n", layer_name(layer), reason, expected);
        return 1;
    }
    return 0;
}

/* Probes with the real jail; LAYERS must be in force. */
static int expect_layers(uint32_t without, uint32_t layers, struct probe *probe)
{
    struct fault fault = FAULT_NULL;
    _cleanup_close_ int program = open_jail();
    CHECK(program >= 0);
    int r = probe_with(program, without, "real", probe, &fault);
    if (r != 0) {
        (void)fprintf(stderr, "%d: %s\n", r, fault.text);
        return 1;
    }
    if (probe->layers != layers) {
        (void)fprintf(stderr, "layers %#x, expected %#x\n", probe->layers, layers);
        for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
            if (!layer_in(probe->layers, layer))
                (void)fprintf(stderr, "# %s: %s\n", layer_name(layer),
                              probe->missing_because[layer]);
        return 1;
    }
    CHECK(!*fault.text);
    return check_shapes(probe) || check_reasons(probe);
}

/* --- what this host has ------------------------------------------------------------------- */

/* SKIPPED if the host does not grant everything; other tests provoke that on purpose. */
static int have_everything(void)
{
    struct probe probe;
    _cleanup_close_ int program = open_jail();
    size_t descriptors = count_descriptors();
    CHECK(program >= 0);
    CHECK(probe_with(program, 0, "all", &probe, NULL) == 0);
    bool all = probe.layers == WANTED;
    for (enum layer layer = 0; layer < LAYER_COUNT && !all; layer++)
        if (!layer_in(probe.layers, layer))
            (void)fprintf(stderr, "# this host: no %s: %s\n", layer_name(layer),
                          probe.missing_because[layer]);
    if (is_closed(&probe, descriptors) != 0)
        return 1;
    return all ? 0 : SKIPPED;
}

static int everything(void)
{
    struct probe probe;
    int r = have_everything();
    if (r == 0)
        r = expect_layers(0, WANTED, &probe);
    if (r != 0)
        return r;
    size_t descriptors = count_descriptors() - 2;
    return check_reason(&probe, LAYER_CGROUP, NO_CGROUPS) || is_closed(&probe, descriptors);
}

/* Where the helper that grants uids is not, or is not what it should be. */
static int no_helper_for_uids(void)
{
    static const struct {
        const char *idmap, *reason;
    } cases[] = {
        {"/proc/there is none", "rubricd-idmap does not listen at /proc/there is none: No such"},
        {"/dev/null", "rubricd-idmap does not listen at /dev/null: Connection refused"},
        {"/dev/null/x", "rubricd-idmap at /dev/null/x: Not a directory"},
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(cases) && r == 0; i++) {
        struct probe probe;
        _cleanup_close_ int program = open_jail();
        size_t descriptors = count_descriptors();
        const struct jailproc_config config = {
            .program = program, .code = -1, .idmap = cases[i].idmap};
        CHECK_EQUAL(probe_jails(&probe, &config, 0, NO_CGROUPS, directory_of("ids"), NULL), 0);
        if (!layer_in(probe.layers, LAYER_USER_NAMESPACE))
            SKIP("no user namespaces");
        CHECK(!layer_in(probe.layers, LAYER_OWN_UID));
        r = check_reason(&probe, LAYER_OWN_UID, cases[i].reason) || is_closed(&probe, descriptors);
    }
    return r;
}

/* Each layer left out, and the layers that go with it. */
static int without_each(void)
{
    int r = have_everything();
    for (enum layer layer = 0; layer < LAYER_COUNT && r == 0; layer++) {
        struct probe probe;
        uint32_t layers = layers_consistent(WANTED & ~LAYER_BIT(layer));
        size_t descriptors = count_descriptors();
        r = expect_layers(LAYER_BIT(layer), layers, &probe);
        if (r == 0)
            r = check_reason(&probe, layer, "switched off by [isolation] without");
        r = r || is_closed(&probe, descriptors);
    }
    return r;
}

static int without_means(void)
{
    static const struct {
        uint32_t without;
        enum layer missing;
        const char *reason;
    } cases[] = {
        {BIT(USER_NAMESPACE), LAYER_PID_NAMESPACE, "it takes a user namespace"},
        {BIT(USER_NAMESPACE), LAYER_MOUNT_NAMESPACE, "it takes a user namespace"},
        {BIT(USER_NAMESPACE), LAYER_NET_NAMESPACE, "it takes a user namespace"},
        {BIT(MOUNT_NAMESPACE) | BIT(LANDLOCK), LAYER_FILESYSTEM,
         "neither a mount namespace nor Landlock can be had"},
        {BIT(NET_NAMESPACE) | BIT(SECCOMP), LAYER_NETWORK,
         "neither a network namespace nor seccomp can be had"},
        {BIT(USER_NAMESPACE) | BIT(LANDLOCK), LAYER_FILESYSTEM,
         "neither a mount namespace nor Landlock can be had"},
        {BIT(USER_NAMESPACE) | BIT(SECCOMP), LAYER_NETWORK,
         "neither a network namespace nor seccomp can be had"},
        {BIT(NETWORK), LAYER_NET_NAMESPACE, "it goes with a layer that is missing"},
        {BIT(FILESYSTEM), LAYER_MOUNT_NAMESPACE, "it goes with a layer that is missing"},
        {BIT(USER_NAMESPACE) | BIT(NO_NEW_PRIVS), LAYER_SECCOMP,
         "it goes with a layer that is missing"},
        /* Both are left out by configuration, so the reason is the administrator. */
        {BIT(USER_NAMESPACE) | BIT(PID_NAMESPACE), LAYER_PID_NAMESPACE, "switched off"},
    };
    int r = have_everything();
    for (size_t i = 0; i < ARRAY_SIZE(cases) && r == 0; i++) {
        struct probe probe;
        size_t descriptors = count_descriptors();
        r = expect_layers(cases[i].without, layers_consistent(WANTED & ~cases[i].without), &probe);
        if (r == 0)
            r = check_reason(&probe, cases[i].missing, cases[i].reason);
        r = r || is_closed(&probe, descriptors);
    }
    return r;
}

/* Not even what Landlock and seccomp need. */
static int without_nearly_all(void)
{
    struct probe probe;
    uint32_t layers = BIT(ENV) | BIT(TEMPDIR) | BIT(RLIMITS) | BIT(TREE_KILL);
    return expect_layers(BIT(USER_NAMESPACE) | BIT(NO_NEW_PRIVS), layers, &probe) ||
           is_closed(&probe, count_descriptors());
}

static int directory_is_there(void)
{
    struct probe probe;
    _cleanup_close_ int program = open_jail();
    CHECK(mkdir(directory_of("there"), 0700) == 0);
    CHECK(mkdir(strcat(strcpy((char[80]){0}, directory_of("there")), "/left"), 0700) == 0);
    CHECK_EQUAL(probe_with(program, 0, "there", &probe, NULL), 0);
    probe_deinit(&probe);
    return 0;
}

static int directory_cannot_be_made(void)
{
    struct probe probe;
    struct fault fault = FAULT_NULL;
    _cleanup_close_ int program = open_jail();
    CHECK(probe_with(program, 0, "no/such", &probe, &fault) < 0);
    CHECK(strncmp(fault.text, "no jail can be started: ", 24) == 0);
    probe_deinit(&probe);
    return 0;
}

/* --- a host that grants less -------------------------------------------------------------- */

/* Forbids user namespaces from here on; returns false if that is not possible. */
static bool refuse_user_namespaces(void)
{
    if (unshare(CLONE_NEWUSER) < 0)
        return false;
    _cleanup_close_ int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, "0", 1) == 1 && unshare(CLONE_NEWUSER) < 0;
}

/* Makes CALL one that this kernel does not have, for this process and its children. */
static int take_away(uint32_t call)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ARRAY_SIZE(instructions), instructions};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    CHECK_ERRNO(syscall((long)call, 0, 0, 0, 0), ENOSYS);
    return 0;
}

/* Checks which layers are missing, and why, once the host refuses CALLS (0: none) and user
 * namespaces. */
struct poor {
    bool no_user_namespaces;
    uint32_t calls[2];
    uint32_t missing;
    struct {
        enum layer layer;
        const char *reason;
    } reasons[4];
};

static int on_a_poor_host(void *argument)
{
    const struct poor *poor = argument;
    struct probe probe;
    int r = have_everything();
    if (r != 0)
        return r;
    if (poor->no_user_namespaces && !refuse_user_namespaces())
        SKIP("this user cannot take user namespaces away");
    for (size_t i = 0; i < ARRAY_SIZE(poor->calls); i++)
        if (poor->calls[i] && take_away(poor->calls[i]) != 0)
            return 1;
    size_t descriptors = count_descriptors();
    r = expect_layers(0, WANTED & ~poor->missing, &probe);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(poor->reasons) && poor->reasons[i].reason; i++)
        r = check_reason(&probe, poor->reasons[i].layer, poor->reasons[i].reason);
    return r || is_closed(&probe, descriptors);
}

static void test_poor_hosts(void **state)
{
    run_scenario(on_a_poor_host, *state);
}

static struct poor no_user_namespaces = {
    .no_user_namespaces = true,
    .missing = NAMESPACES,
    .reasons = {{LAYER_USER_NAMESPACE, "refused: No space left on device; see "
                                       "user.max_user_namespaces"},
                {LAYER_PID_NAMESPACE, "it takes a user namespace"},
                {LAYER_MOUNT_NAMESPACE, "it takes a user namespace"},
                {LAYER_NET_NAMESPACE, "it takes a user namespace"}},
};

static struct poor no_landlock = {
    .calls = {SYS_landlock_create_ruleset},
    .missing = BIT(LANDLOCK),
    .reasons = {{LAYER_LANDLOCK, "the kernel does not offer it: 5.13 or newer, with landlock in "
                                 "its list of security modules (lsm=)"}},
};

static struct poor no_seccomp = {
    .calls = {SYS_seccomp},
    .missing = BIT(SECCOMP),
    .reasons = {{LAYER_SECCOMP, "the kernel does not offer filters (CONFIG_SECCOMP_FILTER): "
                                "Function not implemented"}},
};

static struct poor no_user_namespaces_and_no_landlock = {
    .no_user_namespaces = true,
    .calls = {SYS_landlock_create_ruleset},
    .missing = NAMESPACES | BIT(LANDLOCK) | BIT(FILESYSTEM),
    .reasons = {{LAYER_LANDLOCK, "the kernel does not offer it"},
                {LAYER_FILESYSTEM, "neither a mount namespace nor Landlock can be had"}},
};

static struct poor no_user_namespaces_and_no_seccomp = {
    .no_user_namespaces = true,
    .calls = {SYS_seccomp},
    .missing = NAMESPACES | BIT(SECCOMP) | BIT(NETWORK),
    .reasons = {{LAYER_SECCOMP, "the kernel does not offer filters"},
                {LAYER_NETWORK, "neither a network namespace nor seccomp can be had"}},
};

/* Some filters around services are older than the calls for mounts by descriptor. */
static struct poor no_mounts = {
    .calls = {SYS_fsopen},
    .missing = BIT(MOUNT_NAMESPACE),
    .reasons = {{LAYER_MOUNT_NAMESPACE, "mounting a tmpfs: Function not implemented"}},
};

static struct poor no_clone3 = {.calls = {SYS_clone3}, .missing = 0};

static struct poor nothing_at_all = {
    .no_user_namespaces = true,
    .calls = {SYS_seccomp, SYS_landlock_create_ruleset},
    .missing = NAMESPACES | BIT(SECCOMP) | BIT(NETWORK) | BIT(LANDLOCK) | BIT(FILESYSTEM),
};

/* --- no jail ------------------------------------------------------------------------------ */

static int expect_no_jail(int program, const char *name)
{
    struct probe probe;
    struct fault fault = FAULT_NULL;
    size_t descriptors = count_descriptors();
    CHECK(probe_with(program, 0, name, &probe, &fault) < 0);
    if (strncmp(fault.text, "no jail can be started: ", 24) != 0 || !fault.text[24]) {
        (void)fprintf(stderr, "\"%s\"\n", fault.text);
        return 1;
    }
    CHECK(probe.shape.filter == -1 && probe.networked.filter == -1);
    return is_closed(&probe, descriptors);
}

static int program_is_missing(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close_fd(fd);
    return expect_no_jail(-1, "missing") || expect_no_jail(fd, "closed");
}

static int program_cannot_be_run(void)
{
    static const char text[] = "neither program nor script";
    char path[] = "/tmp/test_probe.XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, text, sizeof(text)) == sizeof(text) && fchmod(fd, 0755) == 0);
    close_fd(fd);
    _cleanup_close_ int no_program = open(path, O_RDONLY | O_CLOEXEC);
    int r = expect_no_jail(no_program, "no-program");
    CHECK(chmod(path, 0600) == 0);
    r = r || expect_no_jail(no_program, "not-executable");
    (void)unlink(path);
    _cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return r || expect_no_jail(directory, "directory");
}

static int program_dies_at_once(void)
{
    static const char *const programs[] = {"/bin/true", "/bin/false"};
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
        _cleanup_close_ int fd = open(programs[i], O_RDONLY | O_CLOEXEC);
        if (expect_no_jail(fd, "dies") != 0)
            return 1;
    }
    return 0;
}

static int no_descriptor_is_left(void)
{
    _cleanup_close_ int program = open_jail();
    int next = dup(program);
    bool is_enough = false;
    close_fd(next);
    /* However early descriptors run out, the failure is reported and nothing is left. What succeeds
     * has its filters. */
    for (rlim_t left = 1; left < 40; left++) {
        struct probe probe;
        struct rlimit limit = {(rlim_t)next + left, 1024};
        const struct jailproc_config config = {.program = program, .code = -1};
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        int r = probe_jails(&probe, &config, 0, NO_CGROUPS, directory_of("few"), NULL);
        CHECK(r < 0 || check_shapes(&probe) == 0);
        is_enough = r == 0;
        probe_deinit(&probe);
        CHECK(left > 2 || r == -EMFILE);
        CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
        int again = dup(program);
        CHECK_EQUAL(again, next);
        close_fd(again);
    }
    CHECK(is_enough);
    return 0;
}

/* --- a jail that lies --------------------------------------------------------------------- */

/* What a jail that meets a shortage once leaves behind, to know it when it is started again. */
static const char *seen_path(const char *directory)
{
    static char path[100];
    (void)snprintf(path, sizeof(path), "%s-seen", directory);
    return path;
}

/* The behaviour of this program when it is started as a jail, by the name of its directory. */
static int play_jail(const char *directory)
{
    static char strings[LINK_STRINGS_MAX];
    struct link_notice report = {.type = LINK_READY, .layers = UINT32_MAX};
    const char *name = strrchr(directory, '.') + 1;
    struct link_setup setup;
    int filter = -1;
    if (link_receive_setup(LINK_FD, &setup, strings, &filter) != 1)
        return 1;
    if (strcmp(name, "short") == 0)
        return write(LINK_FD, &report, sizeof(report) - 1) > 0 ? 0 : 1;
    if (strcmp(name, "empty") == 0)
        return send(LINK_FD, "", 0, 0) == 0 ? 0 : 1;
    if (strcmp(name, "failed") == 0)
        report.type = LINK_FAILED;
    if (strcmp(name, "started") == 0)
        report.type = LINK_STARTED;
    if (strcmp(name, "unknown") == 0)
        report.type = 77;
    memset(report.view_step, 'x', sizeof(report.view_step));
    for (size_t i = 0; i < LAYER_COUNT && strcmp(name, "errors") == 0; i++)
        report.layer_errors[i] = i % 2 ? INT32_MIN : INT32_MAX;
    if (strcmp(name, "none") == 0)
        report.layers = 0;
    bool is_short = strcmp(name, "scarce") == 0 ||
                    (strcmp(name, "once") == 0 && mkdir(seen_path(directory), 0700) == 0);
    if (is_short) {
        report.layers &= ~BIT(MOUNT_NAMESPACE);
        report.layer_errors[LAYER_MOUNT_NAMESPACE] = EMFILE;
    }
    (void)link_send_notice(LINK_FD, &report, report.type == LINK_STARTED ? STDIN_FILENO : -1);
    while (strcmp(name, "stays") == 0)
        (void)pause(); /* though its link is closed */
    return 0;
}

static int open_self(void)
{
    return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

static int jail_that_makes_no_sense(void)
{
    static const char *const names[] = {"short", "empty", "failed", "started", "unknown"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_close_ int self = open_self();
        if (expect_no_jail(self, names[i]) != 0) {
            (void)fprintf(stderr, "%s\n", names[i]);
            return 1;
        }
    }
    return 0;
}

/* It reports only layers that it was asked for. */
static int jail_that_claims_too_much(void)
{
    const uint32_t without = BIT(SECCOMP) | BIT(PID_NAMESPACE);
    struct probe probe;
    int everything = have_everything();
    if (everything != 0)
        return everything;
    _cleanup_close_ int self = open_self();
    CHECK_EQUAL(probe_with(self, without, "too-much", &probe, NULL), 0);
    CHECK_EQUAL(probe.layers, WANTED & ~without);
    CHECK(probe.shape.filter == -1);
    int r = check_shapes(&probe);
    probe_deinit(&probe);
    return r;
}

static int jail_with_odd_errors(void)
{
    struct probe probe;
    _cleanup_close_ int self = open_self();
    CHECK_EQUAL(probe_with(self, 0, "errors", &probe, NULL), 0);
    int r = check_reasons(&probe);
    if (r == 0)
        r = check_reason(&probe, LAYER_MOUNT_NAMESPACE, "xxxx: ");
    probe_deinit(&probe);
    return r;
}

/* A layer that a jail lost to a shortage is not one that the host refuses. */
static int jail_that_met_a_shortage(void)
{
    struct probe probe;
    int everything = have_everything();
    if (everything != 0)
        return everything;
    _cleanup_close_ int self = open_self();
    CHECK_EQUAL(probe_with(self, 0, "once", &probe, NULL), 0);
    CHECK_EQUAL(rmdir(seen_path(directory_of("once"))), 0);
    CHECK_EQUAL(probe.layers, WANTED);
    probe_deinit(&probe);
    return 0;
}

/* A daemon that finds no other jail does not serve with fewer layers. */
static int jail_that_always_meets_a_shortage(void)
{
    struct probe probe;
    struct fault fault = FAULT_NULL;
    _cleanup_close_ int self = open_self();
    CHECK_EQUAL(probe_with(self, 0, "scarce", &probe, &fault), -EMFILE);
    CHECK(strcmp(fault.text, "no jail can be started: Too many open files") == 0);
    probe_deinit(&probe);
    return 0;
}

static int jail_without_any_layer(void)
{
    struct probe probe;
    _cleanup_close_ int self = open_self();
    CHECK_EQUAL(probe_with(self, 0, "none", &probe, NULL), 0);
    CHECK_EQUAL(probe.layers, 0);
    CHECK(probe.shape.filter == -1 && probe.networked.filter == -1);
    return check_reasons(&probe);
}

/* It has answered but does not exit: it is killed. */
static int jail_that_stays(void)
{
    struct probe probe;
    if (!getenv("RUBRICD_SLOW_TESTS"))
        SKIP("it takes ten seconds; RUBRICD_SLOW_TESTS=1 runs it");
    _cleanup_close_ int self = open_self();
    CHECK_EQUAL(probe_with(self, 0, "stays", &probe, NULL), 0);
    probe_deinit(&probe);
    return 0;
}

/* clang-format off */
#define ON_POOR_HOST(host) {#host, test_poor_hosts, NULL, NULL, &(host)}
/* clang-format on */

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[0], "rubricd-jail") == 0)
        return play_jail(argv[1]);
    const struct CMUnitTest tests[] = {
        SCENARIO(everything),
        SCENARIO(without_each),
        SCENARIO(without_means),
        SCENARIO(without_nearly_all),
        SCENARIO(directory_is_there),
        SCENARIO(directory_cannot_be_made),
        ON_POOR_HOST(no_user_namespaces),
        ON_POOR_HOST(no_landlock),
        ON_POOR_HOST(no_seccomp),
        ON_POOR_HOST(no_user_namespaces_and_no_landlock),
        ON_POOR_HOST(no_user_namespaces_and_no_seccomp),
        ON_POOR_HOST(no_mounts),
        ON_POOR_HOST(no_clone3),
        ON_POOR_HOST(nothing_at_all),
        SCENARIO(program_is_missing),
        SCENARIO(program_cannot_be_run),
        SCENARIO(program_dies_at_once),
        SCENARIO(no_helper_for_uids),
        SCENARIO(no_descriptor_is_left),
        SCENARIO(jail_that_makes_no_sense),
        SCENARIO(jail_that_claims_too_much),
        SCENARIO(jail_with_odd_errors),
        SCENARIO(jail_that_met_a_shortage),
        SCENARIO(jail_that_always_meets_a_shortage),
        SCENARIO(jail_without_any_layer),
        SCENARIO(jail_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
