/* SPDX-License-Identifier: MIT */
#include "rubric_files.h"

#include "proto/fields.h"
#include "proto/shortage.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* Read so much of a rubric's files at once; what is more is read while the job waits for its turn.
 */
#define DIGEST_BYTES_AT_ONCE (1u << 20)

#define TASK_CLASS_FILE_MAX (1u << 20)
/* First buffer: most files fit. */
#define TASK_CLASS_FILE_FIRST (4u << 10)

static struct task_class *task_class_ref(struct task_class *task_class)
{
    if (task_class)
        task_class->references++;
    return task_class;
}

struct task_class *task_class_unref(struct task_class *task_class)
{
    if (task_class && --task_class->references == 0) {
        json_decref(task_class->breakdown_keys);
        json_decref(task_class->failure_modes);
        task_class->warm = rubric_class_free(task_class->warm);
        free(task_class);
    }
    return NULL;
}

struct rubric_kept *rubric_kept_free(struct rubric_kept *kept)
{
    if (kept)
        kept->task_class = task_class_unref(kept->task_class);
    free(kept);
    return NULL;
}

static void task_class_unref_pointer(struct task_class **task_class)
{
    *task_class = task_class_unref(*task_class);
}

/* Turns an array of strings into the keys of an object, for look-ups. LIST may be NULL. */
static int decode_list(const json_t *list, const char *path, json_t **ret, struct fault *fault)
{
    if (!list)
        return 0;
    _cleanup_json_ json_t *set = json_object();
    if (!set)
        return -ENOMEM; /* without a list, scores would not be checked */
    for (size_t i = 0; i < json_array_size(list); i++) {
        char where[FIELD_PATH_MAX];
        const char *text;
        int r = field_text_at(list, i, path, where, &text, fault);
        if (r < 0)
            return r;
        if (json_object_set_new(set, text, json_true()) < 0)
            return -ENOMEM;
    }
    *ret = TAKE_PTR(set);
    return 0;
}

int task_class_decode(const char *text, size_t n, struct task_class **ret, struct fault *fault)
{
    enum { BREAKDOWN_KEYS, FAILURE_MODES, DESCRIPTION, WARM, FIELDS };
    static const struct field table[FIELDS] = {
        [BREAKDOWN_KEYS] = {"breakdown_keys", FIELD_ARRAY, FIELD_NULLABLE},
        [FAILURE_MODES] = {"failure_modes", FIELD_ARRAY, FIELD_NULLABLE},
        [DESCRIPTION] = {"description", FIELD_STRING, FIELD_NULLABLE},
        [WARM] = {"warm", FIELD_OBJECT, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    _cleanup_json_ json_t *object = NULL;
    _cleanup_(task_class_unref_pointer) struct task_class *decoded = calloc(1, sizeof(*decoded));
    if (!decoded)
        return -ENOMEM;
    decoded->references = 1;
    int r = json_read_object(text, n, &object, fault);
    if (r == 0)
        r = fields_decode(object, "", table, FIELDS, values, fault);
    if (r == 0)
        r = decode_list(values[BREAKDOWN_KEYS], "breakdown_keys", &decoded->breakdown_keys, fault);
    if (r == 0)
        r = decode_list(values[FAILURE_MODES], "failure_modes", &decoded->failure_modes, fault);
    if (r == 0)
        r = rubric_class_decode(values[WARM], &decoded->warm, fault);
    if (r == 0)
        *ret = TAKE_PTR(decoded);
    return r;
}

/* --- files -------------------------------------------------------------------------------- */

static int refuse(enum error_code *ret_code, enum error_code code)
{
    *ret_code = code;
    return -EINVAL;
}

/* The same for what failed with ERROR, an errno: a shortage is no answer to the request. */
static int refuse_for(enum error_code *ret_code, int error, enum error_code code)
{
    return refuse(ret_code, is_shortage(error) ? ERROR_INTERNAL : code);
}

/* Opens the bench root, and stores its canonical path in *ret_path, which the caller owns in any
 * case. */
static int open_root(const struct rubric_spec *spec, const struct rubric_roots *roots,
                     char **ret_path, enum error_code *ret_code, struct fault *fault)
{
    const char *root = spec->bench_root ? spec->bench_root : roots->default_root;
    if (!root) {
        fault_set(fault,
                  "job.bench_root: missing, and the configuration has no [rubric] bench_root");
        return refuse(ret_code, ERROR_BAD_REQUEST);
    }
    _cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        _cleanup_free_ char *closed = error == EACCES ? roots_closed_to_us(root) : NULL;
        fault_set(fault, "job.bench_root: %.200s: %s", root, strerror(error));
        if (closed)
            fault_set(fault,
                      "job.bench_root: %.200s: %s: jobs run as uid %u, which may not enter %.200s; "
                      "keep benches where others may enter, below /srv say",
                      root, strerror(error), geteuid(), closed);
        return refuse_for(ret_code, error,
                          error == EACCES ? ERROR_NOT_PERMITTED : ERROR_RUBRIC_NOT_FOUND);
    }
    const char *canonical = *ret_path = roots_path_of(fd);
    int r = canonical ? roots_allow(&roots->allowed, canonical) : -errno;
    if (is_shortage(-r)) {
        fault_set(fault, "job.bench_root: %.200s: %s", root, strerror(-r));
        return refuse(ret_code, ERROR_INTERNAL);
    }
    if (r <= 0) {
        fault_set(fault, "job.bench_root: %.200s is not under an allowed root", root);
        return refuse(ret_code, ERROR_NOT_PERMITTED);
    }
    return TAKE_FD(fd);
}

/* Says who may not read NAME, a file of a task class: its owner, who may, reads this. */
static int refuse_closed(int root, const char *name, enum error_code *ret_code, struct fault *fault)
{
    _cleanup_free_ char *path = roots_path_of(root);
    fault_set(fault,
              "job.task_class: %s: %s: jobs run as uid %u, which may not read it; "
              "chmod -R go+rX %.200s%s%.*s",
              name, strerror(EACCES), geteuid(), path ? path : "", path ? "/" : "",
              (int)strcspn(name, "/"), name);
    (void)refuse(ret_code, ERROR_NOT_PERMITTED);
    return -EACCES;
}

/* Says which folder has no NAME. Who gave the folder of a task class wants the one above it. */
static void describe_missing(int root, const char *name, struct fault *fault)
{
    _cleanup_free_ char *path = roots_path_of(root);
    char *slash = path ? strrchr(path, '/') : NULL;
    bool is_class = slash > path && faccessat(root, "rubric.py", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (!path)
        fault_set(fault, "job.task_class: %s: %s", name, strerror(ENOENT));
    else if (!is_class)
        fault_set(fault, "job.task_class: %.200s has no %s", path, name);
    else
        fault_set(fault,
                  "job.task_class: %.150s has no %s, but a rubric.py of its own: if it is a task "
                  "class, the bench root is %.*s",
                  path, name, (int)MIN(slash - path, 150), path);
}

/* Opens a regular file of the task class with FLAGS. Sets *ret_code unless the file does not exist
 * (-ENOENT), of which FAULT says nothing if it IS_OPTIONAL. */
static int open_member(int root, const char *task_class, const char *file, int flags,
                       bool is_optional, enum error_code *ret_code, struct fault *fault)
{
    char name[512];
    struct stat st;
    (void)snprintf(name, sizeof(name), "%.255s/%s", task_class, file);
    _cleanup_close_ int fd = tree_open_beneath(root, name, flags, 0);
    if (fd == -EXDEV) {
        fault_set(fault, "job.task_class: %s leads out of the bench root", name);
        return refuse(ret_code, ERROR_NOT_PERMITTED);
    }
    if (fd == -EACCES)
        return refuse_closed(root, name, ret_code, fault);
    if (fd == -ENOENT && is_optional)
        return fd;
    if (fd < 0) {
        int r = fd;
        if (r == -ENOENT)
            describe_missing(root, name, fault);
        else
            fault_set(fault, "job.task_class: %s: %s", name, strerror(-r));
        (void)refuse_for(ret_code, -r, ERROR_RUBRIC_NOT_FOUND);
        return r;
    }
    if (fstat(fd, &st) < 0) {
        int error = errno;
        fault_set(fault, "job.task_class: %s: %s", name, strerror(error));
        return refuse_for(ret_code, error, ERROR_NOT_PERMITTED);
    }
    if (!S_ISREG(st.st_mode)) {
        fault_set(fault, "job.task_class: %s is not a regular file", name);
        return refuse(ret_code, ERROR_NOT_PERMITTED);
    }
    /* O_PATH opens a file without permission to read it. */
    if (faccessat(fd, "", R_OK, AT_EACCESS | AT_EMPTY_PATH) < 0) {
        int error = errno;
        if (error == EACCES)
            return refuse_closed(root, name, ret_code, fault);
        fault_set(fault, "job.task_class: %s: %s", name, strerror(error));
        return refuse_for(ret_code, error, ERROR_NOT_PERMITTED);
    }
    return TAKE_FD(fd);
}

static int read_all(int fd, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    size_t room = 0;
    for (;;) {
        if (text.length == room) {
            room = MAX(room * 2, (size_t)TASK_CLASS_FILE_FIRST);
            char *data = realloc(text.data, room);
            if (!data)
                return -ENOMEM;
            text.data = data;
        }
        ssize_t n = read(fd, text.data + text.length, room - text.length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        text.length += (size_t)n;
        if (text.length > TASK_CLASS_FILE_MAX)
            return -EFBIG;
    }
    *ret = text;
    text = (struct bytes)BYTES_NULL;
    return 0;
}

static int read_task_class(int root, const char *name, struct task_class **ret,
                           enum error_code *ret_code, struct fault *fault)
{
    _cleanup_close_ int fd =
        open_member(root, name, "task_class.json", O_RDONLY | O_NONBLOCK, true, ret_code, fault);
    if (fd == -ENOENT)
        return 0; /* no lists: scores are not checked */
    if (fd < 0)
        return fd;

    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    struct fault inner = FAULT_NULL;
    int r = read_all(fd, &text);
    if (r == 0)
        r = task_class_decode(text.data, text.length, ret, &inner);
    if (r < 0) {
        fault_set(fault, "job.task_class: %.255s/task_class.json: %.200s", name,
                  *inner.text ? inner.text : strerror(-r));
        return refuse_for(ret_code, -r, ERROR_BAD_REQUEST);
    }
    return 0;
}

void rubric_place_deinit(struct rubric_place *place)
{
    free(place->path);
    free(place->root);
}

/* Fills in PLACE, of which the root is there, from the open rubric and its open root. */
static int locate(int root, int rubric, struct rubric_place *place)
{
    struct stat st;
    place->path = roots_path_of(rubric);
    if (!place->path || fstat(root, &st) < 0)
        return -errno;
    size_t n = strlen(place->root);
    while (n > 0 && place->root[n - 1] == '/')
        n--;
    if (strncmp(place->path, place->root, n) != 0 || place->path[n] != '/')
        return -EXDEV; /* somebody moved it since it was opened */
    place->within = place->path + n + 1;
    place->root_device = st.st_dev;
    place->root_inode = st.st_ino;
    return 0;
}

/* --- the digest --------------------------------------------------------------------------- */

static const char *root_of(const struct rubric_spec *spec, const struct rubric_roots *roots)
{
    return spec->bench_root ? spec->bench_root : roots->default_root;
}

/* Compares the digest with the one that the job names, if it names one. */
static int check_digest(const struct rubric_spec *spec, const struct rubric_digest *digest,
                        enum error_code *ret_code, struct fault *fault)
{
    if (!spec->digest || strcmp(digest->hex, spec->digest) == 0)
        return 0;
    if (*digest->hex)
        fault_set(fault,
                  "job.rubric_digest: another rubric: the directory of %.100s has the digest %s, "
                  "not %s",
                  spec->task_class, digest->hex, spec->digest);
    else
        fault_set(fault, "job.rubric_digest: the directory of %.100s has no digest: %.250s",
                  spec->task_class, *digest->why ? digest->why : "none was looked for");
    return refuse(ret_code, digest->is_short ? ERROR_INTERNAL : ERROR_ANOTHER_RUBRIC);
}

int rubric_settle(struct rubric_spec *spec, const struct rubric_roots *roots)
{
    const char *path = root_of(spec, roots);
    spec->awaits = 0;
    if (!roots->digests || !path)
        return 1;
    _cleanup_close_ int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *canonical = root < 0 ? NULL : roots_path_of(root);
    /* What is wrong with it is said when its turn comes. */
    if (!canonical || roots_allow(&roots->allowed, canonical) <= 0)
        return 1;
    const struct tree_place place = {root, spec->task_class};
    struct digests_asker asker = {.user = spec->user};
    bool is_ready =
        digests_prepare(roots->digests, canonical, &place, DIGEST_BYTES_AT_ONCE, &asker);
    spec->awaits = asker.awaits;
    return is_ready;
}

bool rubric_is_due(const struct rubric_spec *spec, const struct rubric_roots *roots)
{
    const struct digests_asker asker = {.user = spec->user, .awaits = spec->awaits};
    return !roots->digests || digests_is_due(roots->digests, &asker);
}

/* --- what was found before ----------------------------------------------------------------- */

/* What was found for a job, kept with the digest of the rubric's directory. */
struct found {
    struct rubric_place place; /* its digest is not used */
    struct task_class *task_class;
};

static void found_free(void *value)
{
    struct found *found = value;
    rubric_place_deinit(&found->place);
    found->task_class = task_class_unref(found->task_class);
    free(found);
}

/* Copies PLACE, with texts of its own. */
static int copy_place(const struct rubric_place *place, struct rubric_place *ret)
{
    _cleanup_rubric_place_ struct rubric_place copy = *place;
    copy.path = strdup(place->path);
    copy.root = strdup(place->root);
    if (!copy.path || !copy.root)
        return -ENOMEM;
    copy.within = copy.path + (place->within - place->path);
    *ret = copy;
    copy = (struct rubric_place)RUBRIC_PLACE_NULL;
    return 0;
}

/* Whether the directory of the rubric is what its name says, and no link elsewhere: then whatever
 * makes it another directory changes its identity, too, which the digest is looked up by. */
static bool is_in_place(const struct rubric_place *place, const char *task_class)
{
    size_t n = strlen(task_class);
    return strncmp(place->within, task_class, n) == 0 &&
           strcmp(place->within + n, "/rubric.py") == 0;
}

/* Looks up what was found in ROOT, whose canonical path is in PLACE, if the files are as they were
 * then. Returns whether it was found, and is in PLACE and *ret_task_class. */
static bool recall(int root, const struct rubric_spec *spec, const struct rubric_roots *roots,
                   struct rubric_place *place, struct task_class **ret_task_class)
{
    struct stat st;
    const struct tree_place directory = {root, spec->task_class};
    if (!roots->digests || !digests_knows(roots->digests, place->root, spec->task_class))
        return false;
    digests_look(roots->digests, place->root, &directory, spec->user, DIGEST_BYTES_AT_ONCE,
                 &place->digest);
    const struct found *found =
        digests_kept(roots->digests, place->root, spec->task_class, &place->digest);
    if (!found || strcmp(found->place.root, place->root) != 0 || fstat(root, &st) < 0)
        return false;
    struct rubric_place copy = RUBRIC_PLACE_NULL;
    if (copy_place(&found->place, &copy) < 0)
        return false; /* so will be what comes next, which says so */
    copy.root_device = st.st_dev;
    copy.root_inode = st.st_ino;
    copy.digest = place->digest;
    rubric_place_deinit(place);
    *place = copy;
    *ret_task_class = task_class_ref(found->task_class);
    return true;
}

/* Keeps what was found, if the files are those that the directory had BEFORE it was looked for. */
static void remember(const struct rubric_spec *spec, const struct rubric_roots *roots,
                     const struct rubric_digest *before, const struct rubric_place *place,
                     struct task_class *task_class)
{
    struct found *found;
    if (!*before->hex || !is_in_place(place, spec->task_class) ||
        !(found = calloc(1, sizeof(*found))))
        return;
    if (copy_place(place, &found->place) < 0) {
        free(found);
        return;
    }
    found->task_class = task_class_ref(task_class);
    digests_keep(roots->digests, place->root, spec->task_class, before, found, found_free);
}

/* --- all of it ----------------------------------------------------------------------------- */

/* Looks for what is not known from an earlier job. PLACE has the canonical root. */
static int look_for(int root, const struct rubric_spec *spec, const struct rubric_roots *roots,
                    struct rubric_place *place, struct task_class **ret_task_class,
                    enum error_code *ret_code, struct fault *fault)
{
    const struct rubric_digest before = place->digest;
    _cleanup_close_ int rubric =
        open_member(root, spec->task_class, "rubric.py", O_PATH, false, ret_code, fault);
    if (rubric < 0)
        return rubric;
    int r = read_task_class(root, spec->task_class, ret_task_class, ret_code, fault);
    if (r < 0)
        return r;
    r = locate(root, rubric, place);
    if (r < 0) {
        fault_set(fault, "job.task_class: %.255s/rubric.py: %s", spec->task_class, strerror(-r));
        return refuse_for(ret_code, -r, ERROR_NOT_PERMITTED);
    }
    const struct tree_place directory = {root, spec->task_class};
    if (roots->digests)
        digests_look(roots->digests, place->root, &directory, spec->user, DIGEST_BYTES_AT_ONCE,
                     &place->digest);
    remember(spec, roots, &before, place, *ret_task_class);
    return 0;
}

int rubric_find(const struct rubric_spec *spec, const struct rubric_roots *roots,
                struct rubric_place *ret_place, struct task_class **ret_task_class,
                enum error_code *ret_code, struct fault *fault)
{
    _cleanup_(task_class_unref_pointer) struct task_class *task_class = NULL;
    _cleanup_rubric_place_ struct rubric_place place = RUBRIC_PLACE_NULL;
    _cleanup_close_ int root = open_root(spec, roots, &place.root, ret_code, fault);
    if (root < 0)
        return root;
    int r = recall(root, spec, roots, &place, &task_class)
                ? 0
                : look_for(root, spec, roots, &place, &task_class, ret_code, fault);
    if (r == 0)
        r = check_digest(spec, &place.digest, ret_code, fault);
    if (r < 0)
        return r;
    *ret_place = place;
    place = (struct rubric_place)RUBRIC_PLACE_NULL;
    *ret_task_class = TAKE_PTR(task_class);
    return 0;
}
