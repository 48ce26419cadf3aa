/* SPDX-License-Identifier: MIT */
#include "rubric_class.h"

#include "daemon/jail/link.h"
#include "proto/shortage.h"

#include <fcntl.h>
#include <limits.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of all files of one class. */
#define CLASS_BYTES_MAX ((size_t)4 << 20)

#define DIGEST_PREFIX "sha256:"

/* What has been packed so far. */
struct pack {
    struct bytes text; /* owned */
};

static int append(struct pack *pack, const void *data, size_t n)
{
    size_t length = pack->text.length;
    if (n == 0)
        return 0;
    if (length + n > CLASS_BYTES_MAX)
        return -EFBIG;
    char *text = realloc(pack->text.data, length + n);
    if (!text)
        return -ENOMEM;
    memcpy(text + length, data, n);
    pack->text = (struct bytes){.data = text, .length = length + n};
    return 0;
}

static int add(struct pack *pack, enum link_class_part part, const char *name,
               const struct bytes *content)
{
    const struct link_file header = {
        .name_length = (uint32_t)strlen(name),
        .mode = part,
        .size = content ? content->length : 0,
    };
    int r = append(pack, &header, sizeof(header));
    if (r == 0)
        r = append(pack, name, header.name_length);
    return r == 0 && content ? append(pack, content->data, content->length) : r;
}

/* Opens the bench root that PLACE names, if it still is the one that was found. */
static int open_root(const struct rubric_place *place)
{
    struct stat st;
    _cleanup_close_ int root = open(place->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fstat(root, &st) < 0)
        return -errno;
    bool is_same = st.st_dev == place->root_device && st.st_ino == place->root_inode;
    return is_same ? TAKE_FD(root) : -ESTALE;
}

static int add_modules(struct pack *pack, const json_t *modules)
{
    int r = 0;
    for (size_t i = 0; i < json_array_size(modules) && r == 0; i++)
        r = add(pack, LINK_CLASS_MODULE, json_string_value(json_array_get(modules, i)), NULL);
    return r;
}

/* Adds FILE of the task class as NAME. */
static int add_file(struct pack *pack, int root, const char *task_class, const char *file,
                    enum link_class_part part, const char *name, struct fault *fault)
{
    _cleanup_bytes_ struct bytes content = BYTES_NULL;
    int r = rubric_read(root, task_class, file, &content, fault);
    if (r < 0)
        return r;
    r = add(pack, part, name, &content);
    if (r == -EFBIG)
        fault_set(fault, "its files are larger than %zu bytes together", CLASS_BYTES_MAX);
    return r;
}

static int add_helpers(struct pack *pack, int root, const char *task_class, const json_t *helpers,
                       struct fault *fault)
{
    int r = 0;
    for (size_t i = 0; i < json_array_size(helpers) && r == 0; i++) {
        char file[NAME_MAX + 1];
        const char *name = json_string_value(json_array_get(helpers, i));
        (void)snprintf(file, sizeof(file), "%.200s.py", name);
        r = add_file(pack, root, task_class, file, LINK_CLASS_HELPER, name, fault);
    }
    return r;
}

static int seal(const struct bytes *text)
{
    _cleanup_close_ int fd = memfd_create("rubricd-class", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (write(fd, text->data, text->length) != (ssize_t)text->length)
        return -EIO;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return TAKE_FD(fd);
}

static void digest(const struct bytes *text, struct rubric_class *class)
{
    SHA2_CTX context;
    char *at = class->digest + strlen(DIGEST_PREFIX);
    _Static_assert(sizeof(class->launch.digest) == SHA256_DIGEST_LENGTH, "a SHA-256");
    SHA256Init(&context);
    SHA256Update(&context, (const uint8_t *)text->data, text->length);
    SHA256Final(class->launch.digest, &context);
    (void)snprintf(class->digest, sizeof(class->digest), DIGEST_PREFIX);
    for (size_t i = 0; i < sizeof(class->launch.digest); i++, at += 2)
        (void)snprintf(at, 3, "%02x", class->launch.digest[i]);
}

void rubric_class_deinit(struct rubric_class *class)
{
    if (class->launch.pack > 0)
        close_fd(class->launch.pack);
    *class = (struct rubric_class){.launch = {.pack = -1}};
}

int rubric_class_pack(const struct task_class *task_class, const struct rubric_place *place,
                      const char *name, const char *script, struct rubric_class *ret)
{
    struct rubric_class class = {.launch = {.pack = -1}};
    struct fault fault = FAULT_NULL;
    struct pack pack = {BYTES_NULL};
    _cleanup_close_ int root = open_root(place);
    int r = root < 0 ? root : add_modules(&pack, task_class->modules);
    if (r == 0)
        r = add_helpers(&pack, root, name, task_class->helpers, &fault);
    if (r == 0)
        r = add_file(&pack, root, name, "rubric.py", LINK_CLASS_SCRIPT, script, &fault);
    if (r == 0)
        r = class.launch.pack = seal(&pack.text);
    if (r >= 0)
        digest(&pack.text, &class);
    else
        (void)snprintf(class.problem, sizeof(class.problem), "%.127s",
                       *fault.text ? fault.text : strerror(-r));
    bytes_deinit(&pack.text);
    if (r == -ENOMEM)
        return r;
    *ret = class;
    return 0;
}
