/* SPDX-License-Identifier: MIT */
#include "benchpush.h"

#include <fcntl.h>
#include <string.h>

struct benchpush {
    struct bus *bus;
    int root; /* owned */
    char *task_class;
    struct tree tree;
    struct bytes manifest;
    char digest[RUBRICDIR_DIGEST_SIZE];
    size_t at, stored; /* nodes of the tree; the manifest comes after them */
    struct blob *blob;
    benchpush_done *done;
    void *arg;
};

static struct tree_place place_of(const struct benchpush *push)
{
    return (struct tree_place){push->root, push->task_class};
}

static int read_tree(struct benchpush *push, struct fault *fault)
{
    const struct tree_place place = place_of(push);
    struct tree_cursor cursor = TREE_CURSOR_NULL;
    uint64_t budget = UINT64_MAX;
    int r = tree_read(&place, &push->tree, fault);
    if (r == 0)
        r = tree_hash(&push->tree, &place, &cursor, &budget, fault);
    tree_cursor_deinit(&cursor);
    if (r == -EAGAIN)
        (void)fault_set(fault, "its files change while they are read");
    if (r >= 0)
        r = tree_manifest(&push->tree, &push->manifest);
    if (r < 0)
        return r;
    manifest_digest(push->manifest.data, push->manifest.length, push->digest);
    if (push->manifest.length > BLOBS_INLINE_MAX)
        return fault_set(fault,
                         "the list of its files has %zu bytes, and a fleet takes at most %zu",
                         push->manifest.length, BLOBS_INLINE_MAX);
    return 0;
}

int benchpush_new(struct bus *bus, const struct tree_place *place, benchpush_done *done, void *arg,
                  struct benchpush **ret, struct fault *fault)
{
    struct benchpush *push = calloc(1, sizeof(*push));
    if (!push)
        return -ENOMEM;
    *push = (struct benchpush){.bus = bus, .done = done, .arg = arg, .tree = TREE_NULL};
    push->root = fcntl(place->root, F_DUPFD_CLOEXEC, 0);
    push->task_class = strdup(place->name);
    int r = push->root < 0 ? -errno : 0;
    if (r == 0)
        r = push->task_class ? read_tree(push, fault) : -ENOMEM;
    if (r < 0)
        push = benchpush_free(push);
    else
        *ret = push;
    return r;
}

struct benchpush *benchpush_free(struct benchpush *push)
{
    if (!push)
        return NULL;
    (void)blob_free(push->blob);
    tree_deinit(&push->tree);
    bytes_deinit(&push->manifest);
    (void)close_fd(push->root);
    free(push->task_class);
    free(push);
    return NULL;
}

const char *benchpush_digest(const struct benchpush *push)
{
    return push->digest;
}

size_t benchpush_files(const struct benchpush *push)
{
    return push->tree.files;
}

uint64_t benchpush_bytes(const struct benchpush *push)
{
    return push->tree.bytes;
}

size_t benchpush_stored(const struct benchpush *push)
{
    return push->stored;
}

/* --- storing ------------------------------------------------------------------------------ */

static void end(struct benchpush *push, const char *name, const char *why)
{
    char text[FAULT_MAX];
    (void)snprintf(text, sizeof(text), "%s: %s", name, why);
    push->done(push->arg, text); /* may free PUSH */
}

/* Reads the file of NODE, which has to be what it was. */
static int read_file(const struct benchpush *push, const struct tree_node *node, struct bytes *ret)
{
    const struct tree_place place = place_of(push);
    size_t size = (size_t)node->target.size;
    char digest[RUBRICDIR_DIGEST_SIZE];
    _cleanup_bytes_ struct bytes text = {.data = malloc(size + 1)};
    _cleanup_close_ int fd = tree_open(&place, node->name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || !text.data)
        return fd < 0 ? fd : -ENOMEM;
    while (text.length < size) {
        ssize_t n = read(fd, text.data + text.length, size - text.length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ESTALE;
        text.length += (size_t)n;
    }
    text.data[size] = '\0';
    manifest_digest(text.data, size, digest);
    if (strcmp(digest, node->digest) != 0)
        return -ESTALE;
    *ret = TAKE_STRUCT(text, BYTES_NULL);
    return 0;
}

static void on_stored(void *arg, _unused_ struct bytes *text, const char *why)
{
    struct benchpush *push = arg;
    bool is_last = push->at == push->tree.n;
    push->blob = blob_free(push->blob);
    if (why) {
        end(push, is_last ? "the list of its files" : push->tree.nodes[push->at].name, why);
        return;
    }
    push->stored++;
    push->at++;
    if (is_last)
        push->done(push->arg, NULL);
    else
        benchpush_go_on(push);
}

static void store(struct benchpush *push, struct bytes *take_text, const char *digest)
{
    char ref[BLOBS_REF_SIZE];
    blobs_ref(take_text->data, take_text->length, digest, ref);
    push->blob = blob_up(push->bus, take_text, ref, on_stored, push);
    if (!push->blob)
        end(push, push->task_class, "out of memory");
}

void benchpush_go_on(struct benchpush *push)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    const struct tree_node *node = push->tree.nodes;
    while (push->at < push->tree.n &&
           (node[push->at].kind == TREE_DIRECTORY || node[push->at].target.size == 0))
        push->at++;
    node += push->at;
    bool is_last = push->at == push->tree.n;
    int r = is_last ? bytes_copy(push->manifest.data, push->manifest.length, &text)
                    : read_file(push, node, &text);
    if (r == -ESTALE)
        end(push, node->name, "changed while it was read");
    else if (r < 0)
        end(push, is_last ? push->task_class : node->name, strerror(-r));
    else
        store(push, &text, is_last ? push->digest : node->digest);
}
