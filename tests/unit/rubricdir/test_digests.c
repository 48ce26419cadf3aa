/* SPDX-License-Identifier: MIT */
/* Tests the digest of a rubric's directory: what counts for it, what leaves a directory without
 * one, that it is what the directory has now, and what it costs to ask again. */
#include "rubricdir/digests.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ALL UINT64_MAX
#define NOBODY 65534

struct fixture {
    char root[64];
    int fd;
    struct digests *digests;
    char path[512];
};

/* Returns the path of NAME beneath the bench root, until the next call. */
static const char *at(struct fixture *f, const char *name)
{
    (void)snprintf(f->path, sizeof(f->path), "%s/%s", f->root, name);
    return f->path;
}

static void put(struct fixture *f, const char *name, const char *text)
{
    FILE *file = fopen(at(f, name), "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    strcpy(f->root, "/tmp/rubricd-digests-XXXXXX");
    if (!mkdtemp(f->root) || digests_new(&f->digests) < 0)
        return -1;
    f->fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (mkdir(at(f, "c"), 0755) < 0 || mkdir(at(f, "c/sub"), 0755) < 0)
        return -1;
    put(f, "c/rubric.py", "abc");
    *state = f;
    return f->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    (void)digests_free(f->digests);
    (void)close(f->fd);
    remove_tree(f->root);
    free(f);
    return 0;
}

static struct rubric_digest look(struct fixture *f, uint64_t budget)
{
    struct rubric_digest digest;
    const struct tree_place place = {f->fd, "c"};
    digests_look(f->digests, f->root, &place, 0, budget, &digest);
    assert_true(!*digest.hex == !!*digest.why);
    return digest;
}

/* printf 'rubric-directory 1\n%s 3 - rubric.py\n' $(printf abc | sha256sum | cut -c-64) | sha256sum
 */
#define OF_ABC "dea94f3177923729079c4e07734d1f7eb4175cc418a659b41573b37dcaa340c0"

static void test_what_counts(void **state)
{
    struct fixture *f = *state;
    struct rubric_digest before = look(f, ALL);
    assert_string_equal(before.hex, OF_ABC);
    /* What does not: a mode without execution, a time, an empty directory. */
    assert_int_equal(chmod(at(f, "c/rubric.py"), 0600), 0);
    assert_int_equal(utimensat(AT_FDCWD, f->path, (struct timespec[2]){{1, 1}, {1, 1}}, 0), 0);
    assert_int_equal(mkdir(at(f, "c/empty"), 0700), 0);
    put(f, "beside", "");
    assert_string_equal(look(f, ALL).hex, OF_ABC);

    /* What does. */
    assert_int_equal(chmod(at(f, "c/rubric.py"), 0711), 0);
    struct rubric_digest executable = look(f, ALL);
    assert_string_not_equal(executable.hex, OF_ABC);
    assert_int_equal(chmod(at(f, "c/rubric.py"), 0644), 0);
    put(f, "c/sub/helper.py", "");
    struct rubric_digest helped = look(f, ALL);
    assert_string_not_equal(helped.hex, OF_ABC);
    char other[512];
    (void)snprintf(other, sizeof(other), "%s/c/helper.py", f->root);
    assert_int_equal(rename(at(f, "c/sub/helper.py"), other), 0);
    struct rubric_digest moved = look(f, ALL);
    assert_string_not_equal(moved.hex, helped.hex);
    assert_string_not_equal(moved.hex, OF_ABC);
    put(f, "c/helper.py", "x");
    assert_string_not_equal(look(f, ALL).hex, moved.hex);
    assert_int_equal(unlink(at(f, "c/helper.py")), 0);
    assert_string_equal(look(f, ALL).hex, OF_ABC);
}

/* Between two writes within one tick of the kernel no time stamp changes. */
static void test_writes_in_one_tick(void **state)
{
    struct fixture *f = *state;
    for (char c = 'a'; c <= 'z'; c++) {
        struct rubric_digest alone;
        char text[] = {c, '\0'};
        put(f, "c/rubric.py", text);
        struct rubric_digest digest = look(f, ALL);
        struct digests *fresh;
        const struct tree_place place = {f->fd, "c"};
        assert_int_equal(digests_new(&fresh), 0);
        digests_look(fresh, f->root, &place, 0, ALL, &alone);
        assert_string_equal(digest.hex, alone.hex);
        (void)digests_free(fresh);
    }
}

/* A link is the file that it leads to: so is a copy of the directory without links. */
static void test_links(void **state)
{
    struct fixture *f = *state;
    put(f, "shared.py", "shared");
    put(f, "c/helper.py", "shared");
    struct rubric_digest copied = look(f, ALL);
    assert_int_equal(unlink(at(f, "c/helper.py")), 0);
    assert_int_equal(symlink("../shared.py", f->path), 0);
    assert_string_equal(look(f, ALL).hex, copied.hex);
    put(f, "shared.py", "changed");
    assert_string_not_equal(look(f, ALL).hex, copied.hex);
}

static void expect_none(struct fixture *f, const char *why)
{
    /* A failure stands for a second, for whoever asked. */
    struct rubric_digest digest;
    struct digests *fresh;
    const struct tree_place place = {f->fd, "c"};
    size_t descriptors = count_descriptors();
    assert_int_equal(digests_new(&fresh), 0);
    digests_look(fresh, f->root, &place, 0, ALL, &digest);
    (void)digests_free(fresh);
    assert_string_equal(digest.why, why);
    assert_string_equal(digest.hex, "");
    assert_false(digest.is_short);
    assert_int_equal(count_descriptors(), descriptors);
}

static void test_links_that_lead_nowhere(void **state)
{
    static const char why[] = "link: a link that leads to no file beneath the bench root";
    static const char *const targets[] = {"/etc/passwd", "../../etc/passwd", "nothing", "sub",
                                          ".."};
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        assert_int_equal(symlink(targets[i], at(f, "c/link")), 0);
        expect_none(f, why);
        assert_int_equal(unlink(at(f, "c/link")), 0);
    }
    assert_int_equal(mkdir(at(f, "d"), 0755), 0);
    put(f, "d/rubric.py", "");
    assert_int_equal(unlink(at(f, "c/rubric.py")), 0);
    assert_int_equal(symlink("../d/rubric.py", at(f, "c/rubric.py")), 0);
    expect_none(f, "rubric.py: a link out of its directory, whose helpers are others");
}

/* To follow a chain of links can take a tenth of a second for each of a thousand links. */
static void test_links_through_links(void **state)
{
    static const char why[] = "link: a link that leads through another link";
    static const char *const targets[] = {"link", "second", "../way/helper.py"};
    struct fixture *f = *state;
    put(f, "shared.py", "shared");
    assert_int_equal(symlink("../shared.py", at(f, "c/second")), 0);
    assert_int_equal(symlink("c", at(f, "way")), 0);
    for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
        assert_int_equal(symlink(targets[i], at(f, "c/link")), 0);
        expect_none(f, why);
        assert_int_equal(unlink(at(f, "c/link")), 0);
    }
    char longer[RUBRICDIR_NAME_MAX + 2];
    memset(longer, '/', sizeof(longer));
    memcpy(longer, "..", 2);
    strcpy(longer + sizeof(longer) - sizeof("shared.py"), "shared.py");
    assert_int_equal(symlink(longer, at(f, "c/link")), 0);
    expect_none(f, "link: a link that leads to no file beneath the bench root");
}

/* The digest must not tell a job of a file that only the daemon's account may read. */
static void test_links_to_what_is_closed(void **state)
{
    static const char why[] = "link: a link to a file that not everybody may read";
    struct fixture *f = *state;
    assert_int_equal(mkdir(at(f, "private"), 0755), 0);
    put(f, "private/pin.txt", "4711");
    assert_int_equal(symlink("../private/pin.txt", at(f, "c/link")), 0);
    assert_string_not_equal(look(f, ALL).hex, "");
    assert_int_equal(chmod(at(f, "private"), 0700), 0);
    expect_none(f, why);
    assert_int_equal(chmod(at(f, "private"), 0755), 0);
    assert_int_equal(chmod(at(f, "private/pin.txt"), 0640), 0);
    expect_none(f, why);
}

static void test_bounds(void **state)
{
    struct fixture *f = *state;
    char name[300], deep[512] = "c";
    assert_int_equal(mkfifo(at(f, "c/fifo"), 0600), 0);
    expect_none(f, "fifo: neither a file nor a directory");
    assert_int_equal(unlink(f->path), 0);

    put(f, "c/big", "");
    assert_int_equal(truncate(f->path, (64 << 20) - 3), 0);
    assert_true(*look(f, ALL).hex);
    assert_int_equal(truncate(at(f, "c/big"), (64 << 20) - 2), 0);
    expect_none(f, "more than 64 MiB of files");
    assert_int_equal(unlink(at(f, "c/big")), 0);

    put(f, "c/new\nline", "");
    expect_none(f, "new\nline: a name with a control character, or of more than 255 bytes");
    assert_int_equal(unlink(f->path), 0);

    for (int i = 0; i < RUBRICDIR_DEPTH_MAX; i++) {
        strcat(deep, "/d");
        assert_int_equal(mkdir(at(f, deep), 0755), 0);
    }
    assert_true(*look(f, ALL).hex);
    strcat(deep, "/d");
    assert_int_equal(mkdir(at(f, deep), 0755), 0);
    expect_none(f, "d/d/d/d/d/d/d/d/d: more than 8 directories below each other");
    assert_int_equal(rmdir(f->path), 0);

    for (int i = 1; i < RUBRICDIR_FILES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "c/sub/%04d", i);
        put(f, name, "");
    }
    assert_true(*look(f, ALL).hex);
    put(f, "c/one-more", "");
    expect_none(f, "more than 1000 files");
}

static void test_unreadable(void **state)
{
    struct fixture *f = *state;
    uid_t uid = geteuid();
    put(f, "c/sub/secret", "");
    assert_int_equal(chmod(f->path, 0), 0);
    assert_int_equal(chmod(f->root, 0755), 0);
    assert_int_equal(uid == 0 ? seteuid(NOBODY) : 0, 0);
    expect_none(f, "sub/secret: Permission denied");
    assert_int_equal(seteuid(uid), 0);
    assert_int_equal(unlink(at(f, "c/sub/secret")), 0);
    assert_int_equal(chmod(at(f, "c/sub"), 0), 0);
    assert_int_equal(uid == 0 ? seteuid(NOBODY) : 0, 0);
    expect_none(f, "sub: Permission denied");
    assert_int_equal(seteuid(uid), 0);
}

/* As digests_prepare(), of user 0. */
static bool prepare(struct fixture *f, const struct tree_place *place, uint64_t budget)
{
    struct digests_asker asker = {.user = 0};
    return digests_prepare(f->digests, f->root, place, budget, &asker);
}

/* --- portions ----------------------------------------------------------------------------- */

/* Reads in portions until nothing is left; returns how often. */
static int work(struct fixture *f, uint64_t portion)
{
    int n = 0;
    for (int64_t wait = 0; wait >= 0; n++) {
        bool is_ready;
        wait = digests_work(f->digests, portion, &is_ready);
        assert_int_equal(is_ready, wait < 0);
        wait_ms(MAX(wait, 0)); /* until what is young is not */
        assert_in_range(n, 0, 1000);
    }
    return n;
}

#define BIG (1 << 20)
#define PORTION ((uint64_t)(64 << 10))

static void test_portions(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    size_t descriptors = count_descriptors();
    put(f, "c/big", "");
    assert_int_equal(truncate(f->path, BIG), 0);
    struct rubric_digest whole = look(f, ALL);
    (void)digests_free(f->digests);
    assert_int_equal(digests_new(&f->digests), 0);

    assert_int_equal(digests_wait_ms(f->digests), -1);
    assert_false(prepare(f, &place, PORTION));
    assert_false(prepare(f, &place, PORTION));
    assert_true(digests_wait_ms(f->digests) >= 0);
    assert_true(work(f, PORTION) >= BIG / (int)PORTION - 1);
    assert_int_equal(digests_wait_ms(f->digests), -1);
    assert_true(prepare(f, &place, 0));
    /* It is read: to ask again takes no budget. */
    assert_string_equal(look(f, 0).hex, whole.hex);

    /* A change is seen, and not read at once. */
    put(f, "c/big", "short");
    assert_int_equal(truncate(at(f, "c/big"), BIG), 0);
    struct rubric_digest changed = look(f, PORTION);
    assert_string_equal(changed.why, "its files have changed and are still being read");
    assert_true(changed.is_short);
    assert_true(digests_wait_ms(f->digests) >= 0); /* it is read on, whoever asks next */
    assert_false(prepare(f, &place, PORTION));
    (void)work(f, PORTION);
    assert_true(prepare(f, &place, PORTION));
    changed = look(f, PORTION);
    assert_true(*changed.hex && strcmp(changed.hex, whole.hex) != 0);
    (void)close(f->fd);
    f->fd = open(f->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(count_descriptors(), descriptors);
}

/* Reads the directory and its files into TREE. */
static void read_whole(struct fixture *f, struct tree *tree)
{
    const struct tree_place place = {f->fd, "c"};
    struct tree_cursor cursor = TREE_CURSOR_NULL;
    uint64_t budget = ALL;
    assert_int_equal(tree_read(&place, tree, NULL), 0);
    assert_int_equal(tree_hash(tree, &place, &cursor, &budget, NULL), 1);
    tree_cursor_deinit(&cursor);
}

/* What has just changed may change again without another time stamp: it is not trusted yet. */
static void test_young(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    bool was_distrusted = false, was_adopted = true;
    wait_ms(60); /* the directories are not young */
    for (int i = 0; i < 100 && (!was_distrusted || was_adopted); i++) { /* a busy host is slow */
        struct tree tree = TREE_NULL, next = TREE_NULL;
        put(f, "c/rubric.py", "abc");
        read_whole(f, &tree);
        was_distrusted |= !tree_is_current(&tree, &place);
        assert_int_equal(tree_read(&place, &next, NULL), 0);
        tree_adopt(&next, &tree);
        assert_string_equal(next.nodes[1].name, "rubric.py");
        was_adopted &= next.nodes[1].is_hashed;
        tree_deinit(&tree);
        tree_deinit(&next);
    }
    assert_true(was_distrusted && !was_adopted);
    bool is_trusted = false;
    for (int i = 0; i < 10000 && !is_trusted; i++) {
        struct tree tree = TREE_NULL;
        wait_ms(1);
        read_whole(f, &tree);
        is_trusted = tree_is_current(&tree, &place);
        tree_deinit(&tree);
    }
    assert_true(is_trusted);
}

/* A file that changes while it is read has no digest. */
static void test_change_while_it_is_read(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    struct tree_cursor cursor = TREE_CURSOR_NULL;
    struct tree tree = TREE_NULL;
    uint64_t budget = 2 * PORTION;
    put(f, "c/a", "");
    assert_int_equal(truncate(f->path, BIG), 0);
    assert_int_equal(tree_read(&place, &tree, NULL), 0);
    assert_int_equal(tree_hash(&tree, &place, &cursor, &budget, NULL), 0);
    assert_true(cursor.fd >= 0);
    int fd = open(at(f, "c/a"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1); /* its size stays */
    (void)close(fd);
    budget = ALL;
    assert_int_equal(tree_hash(&tree, &place, &cursor, &budget, NULL), -EAGAIN);
    assert_int_equal(cursor.fd, -1);
    tree_deinit(&tree);
}

/* What changes between two portions begins anew. */
static void test_change_between_portions(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    bool is_ready;
    put(f, "c/big", "");
    assert_int_equal(truncate(f->path, BIG), 0);
    assert_false(prepare(f, &place, PORTION));
    let_age();
    assert_int_equal(digests_work(f->digests, PORTION, &is_ready), 0);
    put(f, "c/big", "changed");
    (void)work(f, PORTION);
    struct rubric_digest digest = look(f, ALL), alone;
    struct digests *fresh;
    assert_int_equal(digests_new(&fresh), 0);
    digests_look(fresh, f->root, &place, 0, ALL, &alone);
    assert_string_equal(digest.hex, alone.hex);
    (void)digests_free(fresh);
}

/* Makes a directory NAME of a rubric with a file of BIG zeros, and has it read in portions. */
static void prepare_big(struct fixture *f, const char *name)
{
    const struct tree_place place = {f->fd, name};
    char path[64];
    assert_true(strcmp(name, "c") == 0 || mkdir(at(f, name), 0755) == 0);
    (void)snprintf(path, sizeof(path), "%s/rubric.py", name);
    put(f, path, "abc");
    (void)snprintf(path, sizeof(path), "%s/big", name);
    put(f, path, "");
    assert_int_equal(truncate(f->path, BIG), 0);
    assert_false(prepare(f, &place, PORTION));
}

/* Each directory gets a portion in turn: one that asks for little is not behind one that asks for
 * much. */
static void test_directories_take_turns(void **state)
{
    struct fixture *f = *state;
    bool is_ready = false;
    int n = 0;
    prepare_big(f, "c");
    prepare_big(f, "d");
    put(f, "d/big", ""); /* no longer big */
    let_age();
    for (; !digests_knows(f->digests, f->root, "d"); n++) {
        wait_ms(MAX(digests_work(f->digests, PORTION, &is_ready), 0));
        assert_in_range(n, 0, BIG / (int)PORTION - 4);
    }
    assert_false(digests_knows(f->digests, f->root, "c"));
}

/* What is young waits, and nothing else does. */
static void test_young_files_delay_no_other_directory(void **state)
{
    struct fixture *f = *state;
    bool is_ready = false;
    prepare_big(f, "c");
    prepare_big(f, "d");
    let_age();
    while (!digests_knows(f->digests, f->root, "d")) {
        put(f, "c/big", "");
        assert_int_equal(truncate(at(f, "c/big"), BIG), 0);
        (void)digests_work(f->digests, PORTION, &is_ready);
    }
    assert_false(digests_knows(f->digests, f->root, "c"));
    assert_true(digests_wait_ms(f->digests) >= 0);
}

/* Files that change for ever have no digest, in the end. */
static void test_change_between_all_portions(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    bool is_ready = false;
    size_t descriptors = count_descriptors();
    prepare_big(f, "c");
    for (int n = 0; !is_ready; n++) {
        put(f, "c/big", "");
        assert_int_equal(truncate(at(f, "c/big"), BIG), 0);
        int64_t wait = digests_work(f->digests, PORTION, &is_ready);
        wait_ms(wait > 0 ? wait : 1);
        assert_in_range(n, 0, 20000);
    }
    assert_true(prepare(f, &place, 0));
    assert_string_equal(look(f, 0).why, "its files change while they are read");
    assert_int_equal(count_descriptors(), descriptors);
}

/* So many files are not looked at for each job, and a change is seen all the same. */
static void test_many_files(void **state)
{
    struct fixture *f = *state;
    char name[32];
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "c/sub/%d", i);
        put(f, name, "");
    }
    let_age();
    struct rubric_digest first = look(f, ALL);
    assert_string_equal(look(f, ALL).hex, first.hex);
    put(f, "c/rubric.py", "other");
    int tries = 0;
    while (strcmp(look(f, ALL).hex, first.hex) == 0) {
        wait_ms(1);
        assert_in_range(++tries, 1, 10000);
    }
}

/* More directories than are remembered. */
static void test_many_directories(void **state)
{
    struct fixture *f = *state;
    struct rubric_digest digest;
    char name[32];
    for (int i = 0; i < 100; i++) {
        const struct tree_place place = {f->fd, name};
        (void)snprintf(name, sizeof(name), "c%d", i);
        assert_int_equal(mkdir(at(f, name), 0755), 0);
        (void)snprintf(name, sizeof(name), "c%d/rubric.py", i);
        put(f, name, "abc");
        (void)snprintf(name, sizeof(name), "c%d", i);
        digests_look(f->digests, f->root, &place, 0, ALL, &digest);
        assert_string_equal(digest.hex, OF_ABC);
    }
    assert_string_equal(look(f, ALL).hex, OF_ABC);
}

/* --- users -------------------------------------------------------------------------------- */

/* Makes a directory N of USER's: BIG bytes, or nothing but a rubric. Returns what waits for it. */
static struct digests_asker ask(struct fixture *f, uint64_t user, int n, bool is_big)
{
    char name[32], path[64];
    const struct tree_place place = {f->fd, name};
    struct digests_asker asker = {.user = user, .awaits = 1};
    (void)snprintf(name, sizeof(name), "u%d-%d", (int)user, n);
    (void)snprintf(path, sizeof(path), "%s/rubric.py", name);
    if (mkdir(at(f, name), 0755) == 0)
        put(f, path, "abc");
    (void)snprintf(path, sizeof(path), "%s/big", name);
    if (is_big) {
        put(f, path, "");
        assert_int_equal(truncate(f->path, BIG), 0);
    }
    bool is_ready = digests_prepare(f->digests, f->root, &place, PORTION, &asker);
    assert_int_equal(is_ready, asker.awaits == 0);
    return asker;
}

static bool knows(const struct fixture *f, uint64_t user, int n)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "u%d-%d", (int)user, n);
    return digests_knows(f->digests, f->root, name);
}

#define MANY 40
/* Of 32 places, three times as many as are left. */
#define MOST_PLACES 24

/* One user asks for more directories than can be read; another one has a place all the same, and
 * what takes no place is read at once. */
static void test_a_user_leaves_places_to_others(void **state)
{
    struct fixture *f = *state;
    struct digests_asker waiting = {.user = 0};
    for (int n = 0; n < MANY; n++) {
        struct digests_asker asker = ask(f, 1, n, true);
        assert_int_equal(asker.awaits == DIGESTS_A_PLACE, n >= MOST_PLACES);
        assert_false(digests_is_due(f->digests, &asker));
        waiting = asker;
    }
    assert_int_equal(ask(f, 1, MANY, false).awaits, 0);
    assert_int_equal(ask(f, 2, 0, false).awaits, 0);
    struct digests_asker other = ask(f, 2, 1, true);
    assert_true(other.awaits != 0 && other.awaits != DIGESTS_A_PLACE);
    /* Who has waited for a place is called when there is one, and who has waited for a directory
     * when it is read. */
    bool is_ready = false;
    let_age();
    while (!is_ready)
        wait_ms(MAX(digests_work(f->digests, ALL, &is_ready), 0));
    while (!digests_is_due(f->digests, &other))
        wait_ms(MAX(digests_work(f->digests, ALL, &is_ready), 0));
    assert_true(knows(f, 2, 1));
    while (!digests_is_due(f->digests, &waiting))
        wait_ms(MAX(digests_work(f->digests, ALL, &is_ready), 0));
    assert_true(ask(f, 1, MANY - 1, false).awaits != DIGESTS_A_PLACE);
    assert_int_equal(ask(f, 1, MANY - 2, false).awaits, DIGESTS_A_PLACE);
}

/* However many directories one has to read, a portion of another's is read after each. */
static void test_users_take_turns(void **state)
{
    struct fixture *f = *state;
    bool is_ready = false;
    int n = 0;
    for (int i = 0; i < MOST_PLACES; i++)
        (void)ask(f, 1, i, true);
    struct digests_asker other = ask(f, 2, 0, true);
    let_age();
    for (; !digests_is_due(f->digests, &other); n++)
        wait_ms(MAX(digests_work(f->digests, PORTION, &is_ready), 0));
    /* What was young is read twice. */
    assert_in_range(n, 2, 2 * 2 * (BIG / (int)PORTION + 2));
}

/* Who has most directories loses one, not who has used his for longest. */
static void test_who_has_most_loses_one(void **state)
{
    struct fixture *f = *state;
    (void)ask(f, 2, 0, false);
    (void)ask(f, 3, 0, false);
    for (int n = 0; n < 3 * MANY; n++)
        (void)ask(f, 1, n, false);
    assert_true(knows(f, 2, 0) && knows(f, 3, 0) && knows(f, 1, 3 * MANY - 1));
    assert_false(knows(f, 1, 0));
}

/* A directory that a user with few has in use counts for him, whoever else uses it. */
static void test_a_directory_of_two_users(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    struct rubric_digest digest;
    for (int n = 0; n < MANY; n++)
        (void)ask(f, 1, n, false);
    for (uint64_t user = 1; user <= 2; user++)
        digests_look(f->digests, f->root, &place, user, ALL, &digest);
    digests_look(f->digests, f->root, &place, 1, ALL, &digest);
    for (int n = MANY; n < 4 * MANY; n++)
        (void)ask(f, 1, n, false);
    assert_true(digests_knows(f->digests, f->root, "c"));
}

/* Directories cost a part of the budget, as files do. */
static void test_directories_cost(void **state)
{
    struct fixture *f = *state;
    const struct tree_place place = {f->fd, "c"};
    char name[32];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "c/%d", i);
        assert_int_equal(mkdir(at(f, name), 0755), 0);
    }
    assert_false(prepare(f, &place, PORTION));
    (void)work(f, PORTION);
    assert_true(prepare(f, &place, PORTION));
}

/* --- what is kept with a directory ---------------------------------------------------------- */

/* Counts how often it was freed. */
static void count_freed(void *value)
{
    ++*(int *)value;
}

static void keep(struct fixture *f, const struct rubric_digest *digest, int *value)
{
    digests_keep(f->digests, f->root, "c", digest, value, count_freed);
}

static void test_what_is_kept(void **state)
{
    struct fixture *f = *state;
    int freed[4] = {0};
    let_age();
    struct rubric_digest first = look(f, ALL);
    assert_null(digests_kept(f->digests, f->root, "c", &first));
    keep(f, &first, &freed[0]);
    assert_ptr_equal(digests_kept(f->digests, f->root, "c", &first), &freed[0]);
    struct rubric_digest again = look(f, ALL);
    assert_ptr_equal(digests_kept(f->digests, f->root, "c", &again), &freed[0]);
    assert_null(digests_kept(f->digests, f->root, "d", &again));
    assert_null(digests_kept(f->digests, "/", "c", &again));
    keep(f, &first, &freed[1]); /* in its place */
    assert_int_equal(freed[0], 1);
    assert_ptr_equal(digests_kept(f->digests, f->root, "c", &again), &freed[1]);

    /* The same contents, but read again. */
    put(f, "c/rubric.py", "abc");
    struct rubric_digest second = look(f, ALL);
    assert_string_equal(second.hex, first.hex);
    assert_true(second.changed_ns > first.changed_ns);
    assert_int_equal(freed[1], 1);
    assert_null(digests_kept(f->digests, f->root, "c", &first));
    assert_null(digests_kept(f->digests, f->root, "c", &second));
    keep(f, &first, &freed[2]); /* too late */
    assert_int_equal(freed[2], 1);
    keep(f, &second, &freed[2]);
    assert_ptr_equal(digests_kept(f->digests, f->root, "c", &second), &freed[2]);

    /* No digest, nothing that is kept. */
    assert_int_equal(unlink(at(f, "c/rubric.py")), 0);
    struct rubric_digest none = look(f, ALL);
    assert_int_equal(freed[2], 2);
    assert_null(digests_kept(f->digests, f->root, "c", &none));
    keep(f, &none, &freed[3]);
    assert_int_equal(freed[3], 1);
}

/* What is kept with a directory goes when the directory is remembered no longer, and so does the
 * number of its reading. */
static void test_what_is_kept_is_forgotten(void **state)
{
    struct fixture *f = *state;
    struct rubric_digest digest;
    char name[32];
    int freed = 0, late = 0, last = 0;
    struct rubric_digest first = look(f, ALL);
    keep(f, &first, &freed);
    for (int i = 0; i < 100; i++) {
        const struct tree_place place = {f->fd, name};
        (void)snprintf(name, sizeof(name), "c%d", i);
        digests_look(f->digests, f->root, &place, 0, ALL, &digest);
    }
    assert_int_equal(freed, 1);
    struct rubric_digest second = look(f, ALL);
    keep(f, &first, &late);
    assert_int_equal(late, 1);
    keep(f, &second, &last);
    assert_int_equal(last, 0);
    f->digests = digests_free(f->digests);
    assert_int_equal(last, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_what_counts),
        TEST(test_writes_in_one_tick),
        TEST(test_links),
        TEST(test_links_that_lead_nowhere),
        TEST(test_links_through_links),
        TEST(test_links_to_what_is_closed),
        TEST(test_bounds),
        TEST(test_unreadable),
        TEST(test_young),
        TEST(test_change_while_it_is_read),
        TEST(test_portions),
        TEST(test_change_between_portions),
        TEST(test_directories_take_turns),
        TEST(test_young_files_delay_no_other_directory),
        TEST(test_change_between_all_portions),
        TEST(test_many_files),
        TEST(test_many_directories),
        TEST(test_a_user_leaves_places_to_others),
        TEST(test_users_take_turns),
        TEST(test_who_has_most_loses_one),
        TEST(test_a_directory_of_two_users),
        TEST(test_directories_cost),
        TEST(test_what_is_kept),
        TEST(test_what_is_kept_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
