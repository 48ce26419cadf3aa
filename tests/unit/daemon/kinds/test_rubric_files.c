/* SPDX-License-Identifier: MIT */
/* Tests the search for a rubric: the content of task_class.json, the files that count, and that no
 * link or path leads out of the allowed directories. */
#include "daemon/kinds/rubric_files.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOBODY 65534
#define FILE_MAX (1u << 20)

/* --- task_class.json ---------------------------------------------------------------------- */

/* Compares a list with EXPECTED: "-" for a missing list, otherwise its names in order, each
 * followed by a space. */
static void expect_list(const json_t *list, const char *expected)
{
    char text[200] = "";
    json_t *walked = (json_t *)(uintptr_t)list;
    if (!list)
        strcpy(text, "-");
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        strcat(text, json_object_iter_key(i));
        strcat(text, " ");
    }
    assert_string_equal(text, expected);
}

static void test_decode_good(void **state)
{
    static const struct {
        const char *text, *breakdown_keys, *failure_modes;
    } cases[] = {
        {"{}", "-", "-"},
        {" {\n} \n", "-", "-"},
        {"{\"breakdown_keys\":null,\"failure_modes\":null,\"description\":null}", "-", "-"},
        {"{\"breakdown_keys\":[]}", "", "-"},
        {"{\"failure_modes\":[]}", "-", ""},
        {"{\"breakdown_keys\":[\"a\",\"b\"],\"failure_modes\":[\"x.y\"]}", "a b ", "x.y "},
        {"{\"breakdown_keys\":[\"a\",\"a\",\"b\",\"a\"]}", "a b ", "-"},
        {"{\"breakdown_keys\":[\"\"]}", " ", "-"},
        {"{\"breakdown_keys\":[\"\\u00e9\",\"\xc3\xa8\"]}", "\xc3\xa9 \xc3\xa8 ", "-"},
        {"{\"description\":\"what it is\",\"failure_modes\":[\"x\"]}", "-", "x "},
        {"{\"description\":\"\\u0000\"}", "-", "-"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct task_class *decoded = NULL;
        struct fault fault = FAULT_NULL;
        int r = task_class_decode(cases[i].text, strlen(cases[i].text), &decoded, &fault);
        if (r != 0)
            fail_msg("%s: %s", cases[i].text, fault.text);
        expect_list(decoded->breakdown_keys, cases[i].breakdown_keys);
        expect_list(decoded->failure_modes, cases[i].failure_modes);
        assert_null(task_class_unref(decoded));
    }
    assert_null(task_class_unref(NULL));
}

static void test_decode_bad(void **state)
{
    static const struct {
        const char *text, *message; /* MESSAGE: the start of the error */
    } cases[] = {
        {"", "JSON: "},
        {"{", "JSON: "},
        {"{}{}", "JSON: "},
        {"{} x", "JSON: "},
        {"{\"breakdown_keys\":[],\"breakdown_keys\":[]}", "JSON: "},
        {"{\"breakdown_keys\":[\"\xff\"]}", "JSON: "},
        {"[]", "expected an object, got an array"},
        {"null", "expected an object, got null"},
        {"\"x\"", "expected an object, got a string"},
        {"{\"keys\":[]}", "keys: unknown field"},
        {"{\"Breakdown_keys\":[]}", "Breakdown_keys: unknown field"},
        {"{\"breakdown_keys\":{}}", "breakdown_keys: expected an array, got an object"},
        {"{\"breakdown_keys\":\"a\"}", "breakdown_keys: expected an array, got a string"},
        {"{\"failure_modes\":true}", "failure_modes: expected an array, got a boolean"},
        {"{\"description\":1}", "description: expected a string, got a number"},
        {"{\"breakdown_keys\":[1]}", "breakdown_keys[0]: expected a string, got a number"},
        {"{\"breakdown_keys\":[\"a\",null]}", "breakdown_keys[1]: expected a string, got null"},
        {"{\"failure_modes\":[\"a\",\"b\",[]]}",
         "failure_modes[2]: expected a string, got an array"},
        {"{\"failure_modes\":[{\"code\":\"a\"}]}",
         "failure_modes[0]: expected a string, got an object"},
        {"{\"breakdown_keys\":[\"a\\u0000b\"]}", "breakdown_keys[0]: contains a NUL character"},
        {"{\"failure_modes\":[\"\\u0000\"]}", "failure_modes[0]: contains a NUL character"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct task_class untouched, *decoded = &untouched;
        struct fault fault = FAULT_NULL;
        int r = task_class_decode(cases[i].text, strlen(cases[i].text), &decoded, &fault);
        if (r >= 0 || strncmp(fault.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("%s: %d \"%s\", expected \"%s\"", cases[i].text, r, fault.text,
                     cases[i].message);
        assert_ptr_equal(decoded, &untouched);
        assert_true(task_class_decode(cases[i].text, strlen(cases[i].text), &decoded, NULL) < 0);
    }
}

/* --- a tree to search --------------------------------------------------------------------- */

struct fixture {
    char top[64]; /* canonical */
};

/* Returns TOP/NAME in one of a few static buffers. */
static const char *at(const struct fixture *f, const char *name)
{
    static char buffers[4][PATH_MAX];
    static unsigned next;
    char *buffer = buffers[next++ % ARRAY_SIZE(buffers)];
    (void)snprintf(buffer, PATH_MAX, "%s%s%s", f->top, *name ? "/" : "", name);
    return buffer;
}

static void make_directory(const struct fixture *f, const char *name)
{
    assert_int_equal(mkdir(at(f, name), 0755), 0);
}

static void make_file(const struct fixture *f, const char *name, const char *text)
{
    FILE *stream = fopen(at(f, name), "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static void make_link(const struct fixture *f, const char *name, const char *target)
{
    assert_int_equal(symlink(target, at(f, name)), 0);
}

static void make_fifo(const struct fixture *f, const char *name)
{
    assert_int_equal(mkfifo(at(f, name), 0644), 0);
}

static void make_socket(const struct fixture *f, const char *name)
{
    assert_int_equal(mknod(at(f, name), S_IFSOCK | 0644, 0), 0);
}

/* Makes a task class with a rubric.py, and a task_class.json unless TEXT is NULL. */
static void make_task_class(const struct fixture *f, const char *name, const char *text)
{
    char path[200];
    make_directory(f, name);
    (void)snprintf(path, sizeof(path), "%s/rubric.py", name);
    make_file(f, path, "print()\n");
    (void)snprintf(path, sizeof(path), "%s/task_class.json", name);
    if (text)
        make_file(f, path, text);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char made[] = "/tmp/test_rubric.XXXXXX", canonical[PATH_MAX];
    assert_non_null(f);
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, canonical));
    assert_true(strlen(canonical) < sizeof(f->top));
    strcpy(f->top, canonical);
    assert_int_equal(chmod(f->top, 0755), 0);
    make_directory(f, "root");
    make_directory(f, "outside");
    make_file(f, "outside/rubric.py", "print('out')\n");
    make_file(f, "outside/task_class.json", "{\"breakdown_keys\":[\"out\"]}");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    remove_tree(f->top);
    free(f);
    return 0;
}

/* The expected result of a search. PATH is relative to the top, which %s in MESSAGE stands for. */
struct expected {
    const char *path; /* NULL: it must fail */
    enum error_code code;
    const char *message;
    const char *breakdown_keys; /* in the form of expect_list(); NULL: no lists */
};

struct found {
    int r;
    struct rubric_place place;
    struct task_class *task_class;
    enum error_code code;
    struct fault fault;
};

static struct found find(const char *task_class, const char *bench_root,
                         const struct rubric_roots *roots)
{
    char name[300], root[PATH_MAX];
    const struct rubric_spec spec = {
        .task_class = strcpy(name, task_class),
        .bench_root = bench_root ? strcpy(root, bench_root) : NULL,
    };
    static struct task_class untouched;
    static char untouched_path[1];
    const struct rubric_place place = {.path = untouched_path,
                                       .root = untouched_path,
                                       .within = untouched_path,
                                       .root_device = 1,
                                       .root_inode = 2};
    struct found found = {.place = place, .task_class = &untouched, .code = 12345};
    size_t descriptors = count_descriptors();
    found.r = rubric_find(&spec, roots, &found.place, &found.task_class, &found.code, &found.fault);
    assert_int_equal(count_descriptors(), descriptors);
    if (found.r < 0) {
        assert_memory_equal(&found.place, &place, sizeof(place));
        assert_ptr_equal(found.task_class, &untouched);
        found.place = (struct rubric_place)RUBRIC_PLACE_NULL;
        found.task_class = NULL;
    }
    return found;
}

static void found_deinit(struct found *found)
{
    rubric_place_deinit(&found->place);
    task_class_unref(found->task_class);
}

static void expect_failure(const struct fixture *f, const char *what, const struct found *found,
                           const struct expected *expected)
{
    char message[FAULT_MAX + 80] = "";
    const char *mark = strstr(expected->message, "%s");
    if (mark)
        (void)snprintf(message, sizeof(message), "%.*s%s%s", (int)(mark - expected->message),
                       expected->message, f->top, mark + 2);
    if (found->r >= 0 || found->code != expected->code ||
        strcmp(found->fault.text, mark ? message : expected->message) != 0)
        fail_msg("%s: %d, code %d, \"%s\"\nexpected code %d, \"%s\"", what, found->r,
                 (int)found->code, found->fault.text, (int)expected->code,
                 mark ? message : expected->message);
}

/* Asserts that the members of PLACE agree with each other and with the files. */
static void expect_place(const struct rubric_place *place)
{
    struct stat st;
    size_t n = strlen(place->root);
    assert_int_equal(stat(place->root, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(place->root_device, st.st_dev);
    assert_int_equal(place->root_inode, st.st_ino);
    assert_int_equal(strncmp(place->path, place->root, n), 0);
    /* The slash between them belongs to the root if that is "/". */
    assert_ptr_equal(place->within, place->path + n + (place->root[n - 1] != '/'));
    assert_int_equal(place->within[-1], '/');
    assert_true(strlen(place->within) > 0);
}

static void expect_found(const struct fixture *f, const char *what, const struct found *found,
                         const struct expected *expected)
{
    if (!expected->path) {
        expect_failure(f, what, found, expected);
        return;
    }
    if (found->r != 0)
        fail_msg("%s: %d, code %d, \"%s\"", what, found->r, (int)found->code, found->fault.text);
    assert_string_equal(found->place.path, at(f, expected->path));
    expect_place(&found->place);
    assert_int_equal(found->task_class != NULL, expected->breakdown_keys != NULL);
    if (found->task_class)
        expect_list(found->task_class->breakdown_keys, expected->breakdown_keys);
}

/* Searches the task class NAME beneath TOP/root, without restrictions. */
static void expect_class(const struct fixture *f, const char *name, const struct expected *expected)
{
    static const char *const everywhere[] = {"/"};
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1}};
    struct found found = find(name, at(f, "root"), &roots);
    expect_found(f, name, &found, expected);
    found_deinit(&found);
}

/* Ends the test if a call blocks that must not. */
static void set_deadline(unsigned seconds)
{
    (void)alarm(seconds);
}

/* --- the files ---------------------------------------------------------------------------- */

static void test_plain_files(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/plain", NULL);
    make_task_class(f, "root/listed", "{\"breakdown_keys\":[\"a\",\"b\"]}");
    make_task_class(f, "root/no-lists", "{}");
    make_task_class(f, "root/A.b_c-9", NULL);
    expect_class(f, "plain", &(struct expected){.path = "root/plain/rubric.py"});
    expect_class(f, "listed",
                 &(struct expected){.path = "root/listed/rubric.py", .breakdown_keys = "a b "});
    expect_class(f, "no-lists",
                 &(struct expected){.path = "root/no-lists/rubric.py", .breakdown_keys = "-"});
    expect_class(f, "A.b_c-9", &(struct expected){.path = "root/A.b_c-9/rubric.py"});
}

static void test_longest_name(void **state)
{
    const struct fixture *f = *state;
    char name[256], member[300], message[FAULT_MAX];
    memset(name, 'n', 255);
    name[255] = '\0';
    (void)snprintf(message, sizeof(message), "job.task_class: %s has no %s/rubric.py",
                   at(f, "root"), name);
    expect_class(f, name, &(struct expected){.code = ERROR_RUBRIC_NOT_FOUND, .message = message});
    (void)snprintf(member, sizeof(member), "root/%s", name);
    make_directory(f, member);
    (void)snprintf(member, sizeof(member), "root/%s/rubric.py", name);
    make_file(f, member, "");
    expect_class(f, name, &(struct expected){.path = member});
}

static void test_missing_files(void **state)
{
    const struct fixture *f = *state;
    make_directory(f, "root/empty");
    make_directory(f, "root/lists-only");
    make_file(f, "root/lists-only/task_class.json", "{}");
    make_directory(f, "root/dangling");
    make_link(f, "root/dangling/rubric.py", "nowhere.py");
    make_file(f, "root/file", "");
    static const struct {
        const char *name, *message;
    } cases[] = {
        {"none", "has no none/rubric.py"},
        {"empty", "has no empty/rubric.py"},
        {"lists-only", "has no lists-only/rubric.py"},
        {"dangling", "has no dangling/rubric.py"},
    };
    char message[FAULT_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        (void)snprintf(message, sizeof(message), "job.task_class: %s %s", at(f, "root"),
                       cases[i].message);
        expect_class(f, cases[i].name,
                     &(struct expected){.code = ERROR_RUBRIC_NOT_FOUND, .message = message});
    }
    expect_class(f, "file",
                 &(struct expected){.code = ERROR_RUBRIC_NOT_FOUND,
                                    .message = "job.task_class: file/rubric.py: Not a directory"});
}

/* Who names the folder of a task class as the bench root learns which one it is. */
static void test_root_that_is_a_task_class(void **state)
{
    const struct fixture *f = *state;
    char message[FAULT_MAX];
    make_file(f, "root/rubric.py", "");
    (void)snprintf(message, sizeof(message),
                   "job.task_class: %s has no t/rubric.py, but a rubric.py of its own: if it is a "
                   "task class, the bench root is %s",
                   at(f, "root"), at(f, ""));
    expect_class(f, "t", &(struct expected){.code = ERROR_RUBRIC_NOT_FOUND, .message = message});
}

static void test_links_that_stay_inside(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/real", "{\"breakdown_keys\":[\"a\"]}");
    make_directory(f, "root/file");
    make_link(f, "root/file/rubric.py", "../real/rubric.py");
    make_link(f, "root/file/task_class.json", "../real/task_class.json");
    make_link(f, "root/directory", "real");
    make_link(f, "root/dotted", "./real/../real");
    make_link(f, "root/chain", "directory");
    const struct expected expected = {.path = "root/real/rubric.py", .breakdown_keys = "a "};
    expect_class(f, "file", &expected);
    expect_class(f, "directory", &expected);
    expect_class(f, "dotted", &expected);
    expect_class(f, "chain", &expected);
}

static void test_links_that_lead_out(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/real", NULL);
    make_directory(f, "root/relative");
    make_link(f, "root/relative/rubric.py", "../../outside/rubric.py");
    make_directory(f, "root/absolute");
    make_link(f, "root/absolute/rubric.py", at(f, "outside/rubric.py"));
    /* An absolute link is refused even if its target is inside the root. */
    make_directory(f, "root/about");
    make_link(f, "root/about/rubric.py", at(f, "root/real/rubric.py"));
    /* A link that leads out and in again. */
    make_directory(f, "root/loop");
    make_link(f, "root/loop/rubric.py", "../../root/real/rubric.py");
    make_directory(f, "root/magic");
    make_link(f, "root/magic/rubric.py", "/proc/self/fd/0");
    make_directory(f, "root/cwd");
    make_link(f, "root/cwd/rubric.py", "/proc/self/cwd/rubric.py");
    make_link(f, "root/directory", "../outside");
    make_link(f, "root/chain", "directory");
    make_link(f, "root/up", "..");
    static const char *const names[] = {"relative", "absolute",  "about", "loop", "magic",
                                        "cwd",      "directory", "chain", "up"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char message[100];
        (void)snprintf(message, sizeof(message),
                       "job.task_class: %s/rubric.py leads out of the bench root", names[i]);
        expect_class(f, names[i],
                     &(struct expected){.code = ERROR_NOT_PERMITTED, .message = message});
    }
}

/* The search also refuses names that the request's decoder refuses. */
static void test_names_that_lead_out(void **state)
{
    const struct fixture *f = *state;
    static const char *const names[] = {"..", "../outside", "../root/..", "a/../../outside"};
    make_directory(f, "root/a");
    make_file(f, "rubric.py", "");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char message[100];
        (void)snprintf(message, sizeof(message),
                       "job.task_class: %s/rubric.py leads out of the bench root", names[i]);
        expect_class(f, names[i],
                     &(struct expected){.code = ERROR_NOT_PERMITTED, .message = message});
    }
    char absolute[PATH_MAX];
    (void)snprintf(absolute, sizeof(absolute), "%s", at(f, "outside"));
    struct found found =
        find(absolute, at(f, "root"),
             &(struct rubric_roots){.allowed = {.item = (const char *const[]){"/"}, .count = 1}});
    assert_true(found.r < 0);
    assert_int_equal(found.code, ERROR_NOT_PERMITTED);
}

static void test_link_loop(void **state)
{
    const struct fixture *f = *state;
    make_directory(f, "root/loop");
    make_link(f, "root/loop/rubric.py", "rubric.py");
    expect_class(f, "loop",
                 &(struct expected){.code = ERROR_RUBRIC_NOT_FOUND,
                                    .message = "job.task_class: loop/rubric.py: Too many levels "
                                               "of symbolic links"});
}

static void test_rubric_is_no_regular_file(void **state)
{
    const struct fixture *f = *state;
    static const char *const names[] = {"directory", "fifo", "socket", "link"};
    make_directory(f, "root/directory");
    make_directory(f, "root/directory/rubric.py");
    make_directory(f, "root/fifo");
    make_fifo(f, "root/fifo/rubric.py");
    make_directory(f, "root/socket");
    make_socket(f, "root/socket/rubric.py");
    make_directory(f, "root/link");
    make_link(f, "root/link/rubric.py", "../fifo/rubric.py");
    set_deadline(20);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char message[100];
        (void)snprintf(message, sizeof(message),
                       "job.task_class: %s/rubric.py is not a regular file", names[i]);
        expect_class(f, names[i],
                     &(struct expected){.code = ERROR_NOT_PERMITTED, .message = message});
    }
    set_deadline(0);
}

static void test_lists_are_no_regular_file(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/directory", NULL);
    make_directory(f, "root/directory/task_class.json");
    make_task_class(f, "root/fifo", NULL);
    make_fifo(f, "root/fifo/task_class.json");
    make_task_class(f, "root/link", NULL);
    make_link(f, "root/link/task_class.json", "../fifo/task_class.json");
    make_task_class(f, "root/socket", NULL);
    make_socket(f, "root/socket/task_class.json");
    static const char *const names[] = {"directory", "fifo", "link"};
    set_deadline(20);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char message[100];
        (void)snprintf(message, sizeof(message),
                       "job.task_class: %s/task_class.json is not a regular file", names[i]);
        expect_class(f, names[i],
                     &(struct expected){.code = ERROR_NOT_PERMITTED, .message = message});
    }
    /* A socket cannot be opened in any case; this shows that the checks are on. */
    struct found found =
        find("socket", at(f, "root"),
             &(struct rubric_roots){.allowed = {.item = (const char *const[]){"/"}, .count = 1}});
    assert_true(found.r < 0);
    assert_non_null(strstr(found.fault.text, "socket/task_class.json"));
    set_deadline(0);
}

static void test_lists_behind_links(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/out", NULL);
    make_link(f, "root/out/task_class.json", "../../outside/task_class.json");
    make_task_class(f, "root/absolute", NULL);
    make_link(f, "root/absolute/task_class.json", at(f, "outside/task_class.json"));
    make_task_class(f, "root/loop", NULL);
    make_link(f, "root/loop/task_class.json", "task_class.json");
    expect_class(f, "out",
                 &(struct expected){.code = ERROR_NOT_PERMITTED,
                                    .message = "job.task_class: out/task_class.json leads out of "
                                               "the bench root"});
    expect_class(f, "absolute",
                 &(struct expected){.code = ERROR_NOT_PERMITTED,
                                    .message = "job.task_class: absolute/task_class.json leads out "
                                               "of the bench root"});
    expect_class(f, "loop",
                 &(struct expected){.code = ERROR_RUBRIC_NOT_FOUND,
                                    .message = "job.task_class: loop/task_class.json: Too many "
                                               "levels of symbolic links"});
}

static void test_lists_that_are_wrong(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/empty", "");
    make_task_class(f, "root/number", "{\"breakdown_keys\":[\"a\",7]}");
    make_task_class(f, "root/unknown", "{\"breakdown\":[]}");
    expect_class(f, "number",
                 &(struct expected){.code = ERROR_BAD_REQUEST,
                                    .message = "job.task_class: number/task_class.json: "
                                               "breakdown_keys[1]: expected a string, got a "
                                               "number"});
    expect_class(f, "unknown",
                 &(struct expected){.code = ERROR_BAD_REQUEST,
                                    .message = "job.task_class: unknown/task_class.json: "
                                               "breakdown: unknown field"});
    struct found found =
        find("empty", at(f, "root"),
             &(struct rubric_roots){.allowed = {.item = (const char *const[]){"/"}, .count = 1}});
    assert_true(found.r < 0);
    assert_int_equal(found.code, ERROR_BAD_REQUEST);
    assert_ptr_equal(strstr(found.fault.text, "job.task_class: empty/task_class.json: JSON: "),
                     found.fault.text);
}

/* Makes a task_class.json of N bytes, mostly white space. */
static void make_large_lists(const struct fixture *f, const char *name, size_t n)
{
    _cleanup_free_ char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, ' ', n);
    text[0] = '{';
    text[n - 1] = '}';
    text[n] = '\0';
    make_task_class(f, name, text);
}

static void test_lists_are_bounded(void **state)
{
    const struct fixture *f = *state;
    make_large_lists(f, "root/fits", FILE_MAX);
    make_large_lists(f, "root/large", FILE_MAX + 1);
    make_task_class(f, "root/sparse", "{}");
    assert_int_equal(truncate(at(f, "root/sparse/task_class.json"), INT64_C(1) << 40), 0);
    expect_class(f, "fits",
                 &(struct expected){.path = "root/fits/rubric.py", .breakdown_keys = "-"});
    expect_class(f, "large",
                 &(struct expected){.code = ERROR_BAD_REQUEST,
                                    .message = "job.task_class: large/task_class.json: File too "
                                               "large"});
    expect_class(f, "sparse",
                 &(struct expected){.code = ERROR_BAD_REQUEST,
                                    .message = "job.task_class: sparse/task_class.json: File too "
                                               "large"});
}

/* --- files that this account may not read ------------------------------------------------- */

/* Switches to an account to which mode bits apply. Returns false if that is impossible. */
static bool step_down(void)
{
    return geteuid() != 0 || (setegid(NOBODY) == 0 && seteuid(NOBODY) == 0);
}

static void step_up(void)
{
    if (getuid() == 0 && (seteuid(0) < 0 || setegid(0) < 0))
        _exit(1);
}

static void expect_class_as_nobody(const struct fixture *f, const char *name,
                                   const struct expected *expected)
{
    static const char *const everywhere[] = {"/"};
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1}};
    if (!step_down()) {
        print_message("cannot become an ordinary user\n");
        skip();
    }
    struct found found = find(name, at(f, "root"), &roots);
    step_up();
    expect_found(f, name, &found, expected);
    found_deinit(&found);
}

static void expect_closed(const struct fixture *f, const char *file)
{
    char message[256];
    (void)snprintf(
        message, sizeof(message),
        "job.task_class: closed/%s: Permission denied: jobs run as uid %u, which may not "
        "read it; chmod -R go+rX %s",
        file, getuid() == 0 ? NOBODY : getuid(), at(f, "root/closed"));
    expect_class_as_nobody(f, "closed",
                           &(struct expected){.code = ERROR_NOT_PERMITTED, .message = message});
}

static void test_unreadable_directory(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/closed", NULL);
    assert_int_equal(chmod(at(f, "root/closed"), 0), 0);
    expect_closed(f, "rubric.py");
    assert_int_equal(chmod(at(f, "root/closed"), 0755), 0);
}

static void test_unreadable_lists(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/closed", "{}");
    assert_int_equal(chmod(at(f, "root/closed/task_class.json"), 0), 0);
    expect_closed(f, "task_class.json");
}

/* Otherwise the interpreter would fail to open it, which would give a verdict. */
static void test_unreadable_rubric(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/closed", NULL);
    assert_int_equal(chmod(at(f, "root/closed/rubric.py"), 0), 0);
    expect_closed(f, "rubric.py");
}

/* --- magic links of /proc ----------------------------------------------------------------- */

/* With /proc beneath the root no step of the path leaves the root. Runs in a process of its own.
 * Returns 0, or 77 if this host does not allow such a root. */
static int find_through_magic_link(const struct fixture *f)
{
    char name[] = "magic", root[PATH_MAX];
    static const char *const everywhere[] = {"/"};
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1}};
    struct task_class *task_class = NULL;
    enum error_code code = ERROR_INTERNAL;
    struct fault fault = FAULT_NULL;
    struct rubric_place place = RUBRIC_PLACE_NULL;

    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return 77;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("/proc", at(f, "root/proc"), NULL, MS_BIND | MS_REC, NULL) < 0)
        return 77;
    int fd = open(at(f, "outside/rubric.py"), O_RDONLY);
    if (fd < 0 || dup2(fd, 99) < 0)
        return 1;
    strcpy(root, at(f, "root"));
    const struct rubric_spec spec = {.task_class = name, .bench_root = root};
    if (rubric_find(&spec, &roots, &place, &task_class, &code, &fault) >= 0)
        return 2;
    if (code != ERROR_RUBRIC_NOT_FOUND && code != ERROR_NOT_PERMITTED)
        return 3;
    return strstr(fault.text, "magic/rubric.py") ? 0 : 4;
}

/* With the tree as root directory the bench root is "/", which ends with a slash. */
static int find_beneath_the_root(const struct fixture *f)
{
    char name[] = "class", root[] = "/";
    static const char *const everywhere[] = {"/"};
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1}};
    const struct rubric_spec spec = {.task_class = name, .bench_root = root};
    struct task_class *task_class = NULL;
    enum error_code code = ERROR_INTERNAL;
    struct fault fault = FAULT_NULL;
    struct rubric_place place = RUBRIC_PLACE_NULL;

    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return 77;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("/proc", at(f, "root/proc"), NULL, MS_BIND | MS_REC, NULL) < 0 ||
        chroot(at(f, "root")) < 0 || chdir("/") < 0)
        return 77;
    if (rubric_find(&spec, &roots, &place, &task_class, &code, &fault) < 0)
        return 1;
    if (strcmp(place.path, "/class/rubric.py") != 0 || strcmp(place.root, "/") != 0)
        return 2;
    bool good = strcmp(place.within, "class/rubric.py") == 0;
    rubric_place_deinit(&place);
    return good ? 0 : 3;
}

static void expect_in_child(const struct fixture *f, int (*scenario)(const struct fixture *f))
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(scenario(f));
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("no mount namespace can be had\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_place_beneath_the_root(void **state)
{
    const struct fixture *f = *state;
    make_directory(f, "root/proc");
    make_task_class(f, "root/class", NULL);
    expect_in_child(f, find_beneath_the_root);
}

static void test_magic_link_inside(void **state)
{
    const struct fixture *f = *state;
    make_directory(f, "root/proc");
    make_directory(f, "root/magic");
    make_link(f, "root/magic/rubric.py", "../proc/self/fd/99");
    expect_in_child(f, find_through_magic_link);
}

/* --- the roots ---------------------------------------------------------------------------- */

struct root_case {
    const char *bench_root; /* relative to the top unless absolute; NULL: not set */
    const char *default_root;
    const char *allowed[4]; /* the same */
    enum error_code code;   /* if MESSAGE is not NULL */
    const char *message;
};

/* Makes the NAME of a case absolute; to be freed. */
static char *absolute(const struct fixture *f, const char *name)
{
    return name ? strdup(*name == '/' ? name : at(f, name)) : NULL;
}

static void check_root(const struct fixture *f, const struct root_case *c)
{
    char *allowed[ARRAY_SIZE(c->allowed)] = {NULL};
    struct rubric_roots roots = {.allowed = {.item = (const char *const *)allowed}};
    for (; c->allowed[roots.allowed.count]; roots.allowed.count++)
        allowed[roots.allowed.count] = absolute(f, c->allowed[roots.allowed.count]);
    _cleanup_free_ char *bench_root = absolute(f, c->bench_root);
    _cleanup_free_ char *default_root = absolute(f, c->default_root);
    roots.default_root = default_root;

    struct found found = find("class", bench_root, &roots);
    expect_found(f, c->bench_root ? c->bench_root : "none", &found,
                 &(struct expected){.path = c->message ? NULL : "a/b/class/rubric.py",
                                    .code = c->code,
                                    .message = c->message});
    found_deinit(&found);
    for (size_t i = 0; i < roots.allowed.count; i++)
        free(allowed[i]);
}

static void make_roots(const struct fixture *f)
{
    make_directory(f, "a");
    make_directory(f, "a/b");
    make_task_class(f, "a/b/class", NULL);
    make_directory(f, "a/bc");
    make_task_class(f, "a/bc/class", NULL);
    make_link(f, "a/link", "b");
    make_link(f, "a/out", "../outside");
    make_link(f, "to-a", "a");
    make_file(f, "a/file", "");
    make_link(f, "a/dangling", "nowhere");
    make_link(f, "a/loop", "loop");
}

static void test_allowed_roots(void **state)
{
    static const struct root_case cases[] = {
        {"a/b", NULL, {"/"}, 0, NULL},
        {"a/b", NULL, {""}, 0, NULL},
        {"a/b", NULL, {"a"}, 0, NULL},
        {"a/b", NULL, {"a/b"}, 0, NULL},
        {"a/b", NULL, {"outside", "a/b/class", "a/b"}, 0, NULL},
        {"a/b", NULL, {"no/such/directory", "a"}, 0, NULL},
        /* Slashes and dots. */
        {"a/b/", NULL, {"a/b"}, 0, NULL},
        {"a/b///", NULL, {"a/b"}, 0, NULL},
        {"a/b", NULL, {"a/b/"}, 0, NULL},
        {"a/b", NULL, {"a///"}, 0, NULL},
        {"a//b", NULL, {"a"}, 0, NULL},
        {"a/b", NULL, {"//"}, 0, NULL},
        {"a/./b/../b", NULL, {"a/b"}, 0, NULL},
        {"a/b", NULL, {"a/bc/../b"}, 0, NULL},
        /* Links on either side are resolved. */
        {"a/link", NULL, {"a/b"}, 0, NULL},
        {"to-a/link", NULL, {"a"}, 0, NULL},
        {"a/b", NULL, {"to-a"}, 0, NULL},
        {"a/b", NULL, {"a/link"}, 0, NULL},
        /* The default. */
        {NULL, "a/b", {"a"}, 0, NULL},
        {"a/b", "outside", {"a"}, 0, NULL},
    };
    const struct fixture *f = *state;
    make_roots(f);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_root(f, &cases[i]);
}

static void test_roots_that_are_not_allowed(void **state)
{
#define REFUSED(root) ERROR_NOT_PERMITTED, "job.bench_root: " root " is not under an allowed root"
    static const struct root_case cases[] = {
        {"a/b", NULL, {NULL}, REFUSED("%s/a/b")},
        {"a/b", NULL, {"outside"}, REFUSED("%s/a/b")},
        {"a/b", NULL, {"no/such/directory"}, REFUSED("%s/a/b")},
        {"a/b", NULL, {"a/file"}, REFUSED("%s/a/b")},
        {"a", NULL, {"a/b"}, REFUSED("%s/a")},
        {"/", NULL, {"a"}, REFUSED("/")},
        /* A common prefix is not enough. */
        {"a/bc", NULL, {"a/b"}, REFUSED("%s/a/bc")},
        {"a/bc", NULL, {"a/b/"}, REFUSED("%s/a/bc")},
        {"a/b", NULL, {"a/bc"}, REFUSED("%s/a/b")},
        /* A path that leads out by dots or by a link. */
        {"a/b/..", NULL, {"a/b"}, REFUSED("%s/a/b/..")},
        {"a/b/../bc", NULL, {"a/b"}, REFUSED("%s/a/b/../bc")},
        {"a/out", NULL, {"a"}, REFUSED("%s/a/out")},
        {"a/out/", NULL, {"a"}, REFUSED("%s/a/out/")},
        {"a/link", NULL, {"a/bc"}, REFUSED("%s/a/link")},
        /* The default must be allowed, too. */
        {NULL, "outside", {"a"}, REFUSED("%s/outside")},
    };
    const struct fixture *f = *state;
    make_roots(f);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_root(f, &cases[i]);
}

static void test_roots_that_are_not_there(void **state)
{
    static const struct root_case cases[] = {
        {NULL,
         NULL,
         {"/"},
         ERROR_BAD_REQUEST,
         "job.bench_root: missing, and the configuration has no [rubric] bench_root"},
        {"none",
         NULL,
         {"/"},
         ERROR_RUBRIC_NOT_FOUND,
         "job.bench_root: %s/none: No such file or directory"},
        {"a/file",
         NULL,
         {"/"},
         ERROR_RUBRIC_NOT_FOUND,
         "job.bench_root: %s/a/file: Not a directory"},
        {"a/dangling",
         NULL,
         {"/"},
         ERROR_RUBRIC_NOT_FOUND,
         "job.bench_root: %s/a/dangling: No such file or directory"},
        {"a/loop",
         NULL,
         {"/"},
         ERROR_RUBRIC_NOT_FOUND,
         "job.bench_root: %s/a/loop: Too many levels of symbolic links"},
        {NULL,
         "none",
         {"/"},
         ERROR_RUBRIC_NOT_FOUND,
         "job.bench_root: %s/none: No such file or directory"},
    };
    const struct fixture *f = *state;
    make_roots(f);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_root(f, &cases[i]);
}

/* A message cuts a root that is too long for it. */
static void test_long_root(void **state)
{
    char root[4000] = "/";
    static const char *const everywhere[] = {"/"};
    (void)state;
    while (strlen(root) < 3900)
        strcat(root, "\xc3\xa9/");
    struct found found =
        find("class", root, &(struct rubric_roots){.allowed = {.item = everywhere, .count = 1}});
    assert_true(found.r < 0);
    assert_int_equal(found.code, ERROR_RUBRIC_NOT_FOUND);
    assert_non_null(strstr(found.fault.text, "No such file or directory"));
    assert_true(strlen(found.fault.text) < 300);
}

/* Makes directories beneath TOP until the path has LENGTH bytes; returns the last one. */
static int make_long_root(const struct fixture *f, char path[PATH_MAX], size_t length)
{
    char name[202];
    (void)snprintf(path, PATH_MAX, "%s", f->top);
    while (strlen(path) < length) {
        size_t n = MIN(length - strlen(path), sizeof(name) - 1);
        memset(name, 'd', n);
        name[0] = '/';
        name[n] = '\0';
        strcat(path, name);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* The search refuses a path above PATH_MAX, because the interpreter could not open it. */
static void test_path_that_is_too_long(void **state)
{
    static const char *const everywhere[] = {"/"};
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1}};
    char root[PATH_MAX];
    int fd = make_long_root(*state, root, PATH_MAX - 10);
    assert_int_equal(mkdirat(fd, "class", 0755), 0);
    int file = openat(fd, "class/rubric.py", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(file >= 0);
    struct found found = find("class", root, &roots);
    (void)close(file);
    assert_int_equal(unlinkat(fd, "class/rubric.py", 0), 0);
    assert_int_equal(unlinkat(fd, "class", AT_REMOVEDIR), 0);
    (void)close(fd);
    assert_true(found.r < 0);
    assert_int_equal(found.code, ERROR_NOT_PERMITTED);
    assert_string_equal(found.fault.text, "job.task_class: class/rubric.py: File name too long");
}

/* A root given through a descriptor is known by its real name. */
static void test_root_through_a_descriptor(void **state)
{
    const struct fixture *f = *state;
    char link[40];
    make_roots(f);
    int fd = open(at(f, "a/bc"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    struct found found =
        find("class", link,
             &(struct rubric_roots){
                 .allowed = {.item = (const char *const[]){at(f, "a/b")}, .count = 1}});
    assert_true(found.r < 0);
    assert_int_equal(found.code, ERROR_NOT_PERMITTED);
    found = find("class", link,
                 &(struct rubric_roots){
                     .allowed = {.item = (const char *const[]){at(f, "a/bc")}, .count = 1}});
    assert_int_equal(found.r, 0);
    assert_string_equal(found.place.path, at(f, "a/bc/class/rubric.py"));
    assert_string_equal(found.place.root, at(f, "a/bc"));
    assert_string_equal(found.place.within, "class/rubric.py");
    expect_place(&found.place);
    found_deinit(&found);
    (void)close(fd);
}

/* Looks for the rubric with ROOM descriptors left. Returns 0, or the code of the error. */
static int find_with_room(const struct fixture *f, unsigned room, struct fault *fault)
{
    char name[] = "class", root[PATH_MAX];
    const struct rubric_spec spec = {.task_class = name, .bench_root = strcpy(root, at(f, "root"))};
    const struct rubric_roots roots = {.allowed = {(const char *const[]){"/"}, 1}};
    struct rubric_place place = RUBRIC_PLACE_NULL;
    struct task_class *task_class = NULL;
    enum error_code code = 12345;
    struct rlimit before;
    int next = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    assert_true(next >= 0);
    close_fd(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit limit = {.rlim_cur = (rlim_t)next + room, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    int r = rubric_find(&spec, &roots, &place, &task_class, &code, fault);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    rubric_place_deinit(&place);
    task_class_unref(task_class);
    return r < 0 ? (int)code : 0;
}

/* A rubric that cannot be opened for want of descriptors is not one that is not there. */
static void test_a_shortage_says_nothing_of_the_rubric(void **state)
{
    const struct fixture *f = *state;
    make_task_class(f, "root/class", "{}");
    for (unsigned room = 0; room < 3; room++) { /* the root, rubric.py, task_class.json */
        struct fault fault = FAULT_NULL;
        assert_int_equal(find_with_room(f, room, &fault), ERROR_INTERNAL);
        assert_non_null(strstr(fault.text, ": Too many open files"));
    }
    assert_int_equal(find_with_room(f, 3, NULL), 0);
}

/* --- what was found before ------------------------------------------------------------------- */

/* Finds NAME beneath TOP/BENCH, with digests. */
static struct found find_beneath(const struct fixture *f, const char *bench,
                                 struct digests *digests, const char *name)
{
    static const char *const everywhere[] = {"/"};
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1},
                                       .digests = digests};
    return find(name, at(f, bench), &roots);
}

static struct found find_again(const struct fixture *f, struct digests *digests, const char *name)
{
    return find_beneath(f, "root", digests, name);
}

/* Asserts that NAME is found with one key in its lists, KEY. The lists are those that were read for
 * an earlier job, LISTS, or, if that is NULL, others. Returns the lists, which are borrowed from
 * what is kept. */
static struct task_class *expect_again(const struct fixture *f, struct digests *digests,
                                       const char *name, const char *key,
                                       const struct task_class *lists)
{
    struct found found = find_again(f, digests, name);
    assert_int_equal(found.r, 0);
    expect_place(&found.place);
    assert_non_null(found.task_class);
    assert_non_null(json_object_get(found.task_class->breakdown_keys, key));
    if (lists)
        assert_ptr_equal(found.task_class, lists);
    struct task_class *ret = found.task_class;
    found_deinit(&found);
    return ret;
}

static void test_found_once(void **state)
{
    const struct fixture *f = *state;
    struct digests *digests = NULL;
    assert_int_equal(digests_new(&digests), 0);
    make_task_class(f, "root/class", "{\"breakdown_keys\": [\"a\"]}");
    let_age();
    (void)expect_again(f, digests, "class", "a", NULL); /* digests the files */
    struct task_class *lists = expect_again(f, digests, "class", "a", NULL);
    (void)expect_again(f, digests, "class", "a", lists);
    (void)expect_again(f, digests, "class", "a", lists);

    /* Another root of the same path. */
    assert_int_equal(rename(at(f, "root"), at(f, "old")), 0);
    make_directory(f, "root");
    make_task_class(f, "root/class", "{\"breakdown_keys\": [\"b\"]}");
    (void)expect_again(f, digests, "class", "b", NULL);
    (void)expect_again(f, digests, "class", "b", NULL);

    /* A change of the lists, and their end. */
    make_file(f, "root/class/task_class.json", "{\"breakdown_keys\": [\"c\"]}");
    (void)expect_again(f, digests, "class", "c", NULL);
    (void)expect_again(f, digests, "class", "c", NULL);
    assert_int_equal(unlink(at(f, "root/class/task_class.json")), 0);
    struct found found = find_again(f, digests, "class");
    assert_int_equal(found.r, 0);
    assert_null(found.task_class);
    found_deinit(&found);

    /* And that of the rubric. */
    found = find_again(f, digests, "class");
    assert_int_equal(found.r, 0);
    found_deinit(&found);
    assert_int_equal(unlink(at(f, "root/class/rubric.py")), 0);
    found = find_again(f, digests, "class");
    assert_int_equal(found.code, ERROR_RUBRIC_NOT_FOUND);
    assert_null(digests_free(digests));
}

/* A directory that a link leads to can move without a change of anything that is looked at. */
static void test_found_behind_a_link(void **state)
{
    const struct fixture *f = *state;
    struct digests *digests = NULL;
    assert_int_equal(digests_new(&digests), 0);
    make_directory(f, "root/v1");
    make_task_class(f, "root/v1/class", "{\"breakdown_keys\": [\"a\"]}");
    make_link(f, "root/link", "v1/class");
    let_age();
    for (int i = 0; i < 3; i++)
        (void)expect_again(f, digests, "link", "a", NULL);
    assert_int_equal(rename(at(f, "root/v1"), at(f, "root/v2")), 0);
    assert_int_equal(unlink(at(f, "root/link")), 0);
    make_link(f, "root/link", "v2/class");
    struct found found = find_again(f, digests, "link");
    assert_int_equal(found.r, 0);
    assert_string_equal(found.place.within, "v2/class/rubric.py");
    found_deinit(&found);
    assert_null(digests_free(digests));
}

/* So can a bench root that a link leads to. */
static void test_found_beneath_a_root_that_moves(void **state)
{
    const struct fixture *f = *state;
    struct digests *digests = NULL;
    assert_int_equal(digests_new(&digests), 0);
    make_task_class(f, "root/class", "{}");
    make_link(f, "bench", "root");
    let_age();
    for (int i = 0; i < 3; i++) {
        struct found found = find_beneath(f, "bench", digests, "class");
        assert_int_equal(found.r, 0);
        assert_string_equal(found.place.root, at(f, "root"));
        found_deinit(&found);
    }
    assert_int_equal(rename(at(f, "root"), at(f, "moved")), 0);
    assert_int_equal(unlink(at(f, "bench")), 0);
    make_link(f, "bench", "moved");
    struct found found = find_beneath(f, "bench", digests, "class");
    assert_int_equal(found.r, 0);
    assert_string_equal(found.place.path, at(f, "moved/class/rubric.py"));
    expect_place(&found.place);
    found_deinit(&found);
    assert_null(digests_free(digests));
}

/* A root has many names, and its directories are read once. */
static void test_spellings_of_a_root(void **state)
{
    const struct fixture *f = *state;
    static const char *const everywhere[] = {"/"}, *const spellings[] = {"root", "root/.", "link"};
    struct digests *digests = NULL;
    uint64_t first = 0;
    assert_int_equal(digests_new(&digests), 0);
    make_task_class(f, "root/class", "{}");
    make_file(f, "root/class/data", "");
    assert_int_equal(truncate(at(f, "root/class/data"), 8 << 20), 0);
    make_link(f, "link", "root");
    const struct rubric_roots roots = {.allowed = {.item = everywhere, .count = 1},
                                       .digests = digests};
    for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
        char name[] = "class", root[PATH_MAX];
        struct rubric_spec spec = {.task_class = name,
                                   .bench_root = strcpy(root, at(f, spellings[i]))};
        assert_int_equal(rubric_settle(&spec, &roots), 0);
        assert_false(rubric_is_due(&spec, &roots));
        assert_int_not_equal(spec.awaits, 0);
        first = i == 0 ? spec.awaits : first;
        assert_int_equal(spec.awaits, first);
    }
    assert_null(digests_free(digests));
}

#define ON_TREE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_good),
        cmocka_unit_test(test_decode_bad),
        ON_TREE(test_plain_files),
        ON_TREE(test_longest_name),
        ON_TREE(test_missing_files),
        ON_TREE(test_root_that_is_a_task_class),
        ON_TREE(test_links_that_stay_inside),
        ON_TREE(test_links_that_lead_out),
        ON_TREE(test_names_that_lead_out),
        ON_TREE(test_link_loop),
        ON_TREE(test_rubric_is_no_regular_file),
        ON_TREE(test_lists_are_no_regular_file),
        ON_TREE(test_lists_behind_links),
        ON_TREE(test_lists_that_are_wrong),
        ON_TREE(test_lists_are_bounded),
        ON_TREE(test_unreadable_directory),
        ON_TREE(test_unreadable_lists),
        ON_TREE(test_unreadable_rubric),
        ON_TREE(test_magic_link_inside),
        ON_TREE(test_place_beneath_the_root),
        ON_TREE(test_allowed_roots),
        ON_TREE(test_roots_that_are_not_allowed),
        ON_TREE(test_roots_that_are_not_there),
        cmocka_unit_test(test_long_root),
        ON_TREE(test_path_that_is_too_long),
        ON_TREE(test_root_through_a_descriptor),
        ON_TREE(test_a_shortage_says_nothing_of_the_rubric),
        ON_TREE(test_spellings_of_a_root),
        ON_TREE(test_found_once),
        ON_TREE(test_found_behind_a_link),
        ON_TREE(test_found_beneath_a_root_that_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
