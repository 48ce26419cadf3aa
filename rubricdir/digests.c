/* SPDX-License-Identifier: MIT */
#include "digests.h"

#include "proto/fair.h"
#include "proto/shortage.h"

#include <fcntl.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

/* Directories that are remembered; a thousand files take some 300 KB. */
#define ENTRIES_MAX 64
/* Of these, directories that are being read; another one waits until there is a place. */
#define READING_MAX 32
/* Who has no place reads only this part of the budget. */
#define WITHOUT_PLACE 4
/* Begins anew so often when files change while they are read; one that is read in portions, for at
 * least so long. */
#define TRIES_MAX 3
#define TRIES_NS INT64_C(1000000000)
#define FAILURE_NS INT64_C(1000000000)
#define NS_PER_S INT64_C(1000000000)
/* To ask for the identities of more files than these takes long enough that what was found stands
 * for so many times that long. */
#define MANY_NODES 64
#define STANDS_TIMES 16
/* But never for longer. */
#define STANDS_MAX_NS (NS_PER_S / 10)
/* To list a directory costs as much as to digest so many bytes. */
#define LIST_BYTES ((uint64_t)4096)
/* Of the number of a reading: how often one entry can be read. */
#define READING_BITS 32

enum entry_state {
    ENTRY_KNOWN,   /* `digest` says what there is to say */
    ENTRY_READING, /* `tree` is listed, and `cursor` is where to go on */
};

struct entry {
    char *root, *name;
    uint64_t user; /* that it counts for */
    enum entry_state state;
    struct tree tree;
    struct tree_cursor cursor;
    struct rubric_digest digest;
    int64_t failed_ns; /* when it was found to have no digest */
    int64_t until_ns;  /* until then nobody looks again */
    bool is_listed;    /* for digests_work() */
    int64_t listed_ns; /* since when */
    unsigned begun;    /* how often it has begun anew since then */
    uint64_t reading;  /* of `tree`; unlike those of all other entries, and of earlier ones */
    void *kept;        /* since it was read; NULL: nothing */
    void (*free_kept)(void *);
    TAILQ_ENTRY(entry) link, of_work;
};

TAILQ_HEAD(entries, entry);

struct digests {
    struct entries entries; /* those that were used last come first */
    struct entries work;
    size_t n, n_work;
    uint64_t added; /* entries so far */
};

static int64_t ns_of(const struct timespec *time)
{
    return time->tv_sec * NS_PER_S + time->tv_nsec;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return ns_of(&now);
}

int digests_new(struct digests **ret)
{
    struct digests *digests = calloc(1, sizeof(*digests));
    if (!digests)
        return -ENOMEM;
    TAILQ_INIT(&digests->entries);
    TAILQ_INIT(&digests->work);
    *ret = digests;
    return 0;
}

static void drop_kept(struct entry *entry)
{
    if (entry->kept)
        entry->free_kept(entry->kept);
    entry->kept = NULL;
}

static void entry_free(struct entry *entry)
{
    drop_kept(entry);
    tree_cursor_deinit(&entry->cursor);
    tree_deinit(&entry->tree);
    free(entry->root);
    free(entry->name);
    free(entry);
}

struct digests *digests_free(struct digests *digests)
{
    struct entry *entry;
    while (digests && (entry = TAILQ_FIRST(&digests->entries)) != NULL) {
        TAILQ_REMOVE(&digests->entries, entry, link);
        entry_free(entry);
    }
    free(digests);
    return NULL;
}

/* --- one directory ------------------------------------------------------------------------ */

/* R is a negative errno. */
static void fail(struct entry *entry, int r, const struct fault *fault)
{
    tree_cursor_deinit(&entry->cursor);
    drop_kept(entry);
    entry->state = ENTRY_KNOWN;
    entry->failed_ns = now_ns();
    entry->digest = (struct rubric_digest){.is_short = is_shortage(-r)};
    (void)snprintf(entry->digest.why, sizeof(entry->digest.why), "%s",
                   *fault->text ? fault->text : strerror(-r));
}

/* Lists the files, and keeps what is known of those that have not changed. */
static int begin(struct entry *entry, const struct tree_place *place, struct fault *fault)
{
    struct tree tree = TREE_NULL;
    tree_cursor_deinit(&entry->cursor);
    entry->cursor = (struct tree_cursor)TREE_CURSOR_NULL;
    int r = tree_read(place, &tree, fault);
    if (r < 0)
        return r;
    tree_adopt(&tree, &entry->tree);
    tree_deinit(&entry->tree);
    entry->tree = tree;
    drop_kept(entry);
    entry->reading++;
    entry->state = ENTRY_READING;
    return 0;
}

static int64_t newest_change(const struct tree *tree)
{
    int64_t newest_ns = 0;
    for (size_t i = 0; i < tree->n; i++) {
        newest_ns = MAX(newest_ns, ns_of(&tree->nodes[i].identity.changed));
        newest_ns = MAX(newest_ns, ns_of(&tree->nodes[i].target.changed));
    }
    return newest_ns;
}

static int finish(struct entry *entry)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    int r = tree_manifest(&entry->tree, &text);
    if (r < 0)
        return r;
    entry->digest = (struct rubric_digest){.reading = entry->reading,
                                           .changed_ns = newest_change(&entry->tree)};
    manifest_digest(text.data, text.length, entry->digest.hex);
    entry->state = ENTRY_KNOWN;
    return 0;
}

/* Whether the files are as they were. */
static bool is_current(struct entry *entry, const struct tree_place *place)
{
    if (entry->tree.n <= MANY_NODES)
        return tree_is_current(&entry->tree, place);
    int64_t before_ns = now_ns();
    if (before_ns < entry->until_ns)
        return true;
    bool is_current = tree_is_current(&entry->tree, place);
    int64_t after_ns = now_ns();
    int64_t stands_ns = MIN(STANDS_TIMES * (after_ns - before_ns), STANDS_MAX_NS);
    entry->until_ns = is_current ? after_ns + stands_ns : 0;
    return is_current;
}

/* Whether what is known holds now. */
static bool holds(struct entry *entry, const struct tree_place *place)
{
    if (entry->state != ENTRY_KNOWN)
        return false;
    return *entry->digest.hex ? is_current(entry, place) : now_ns() < entry->failed_ns + FAILURE_NS;
}

/* Takes one step. 1: the files are digested; 0: the budget is used up. */
static int step(struct entry *entry, const struct tree_place *place, bool *is_fresh,
                uint64_t *budget, struct fault *fault)
{
    int r = 0;
    if (entry->state == ENTRY_KNOWN) {
        *is_fresh = true;
        r = begin(entry, place, fault);
        if (r == 0)
            *budget -= MIN(*budget, entry->tree.directories * LIST_BYTES);
    }
    if (r == 0)
        r = tree_hash(&entry->tree, place, &entry->cursor, budget, fault);
    if (r > 0) {
        int error = finish(entry);
        r = error < 0 ? error : r;
    }
    return r;
}

/* Notes that files have changed while they were read. Returns whether to begin anew. */
static bool begin_anew(struct entry *entry)
{
    entry->state = ENTRY_KNOWN;
    entry->digest.hex[0] = '\0';
    entry->failed_ns = INT64_MIN / 2;
    entry->begun++;
    return !entry->is_listed || entry->begun < TRIES_MAX || now_ns() < entry->listed_ns + TRIES_NS;
}

/* Brings what is known up to date. Returns false if that takes more than *BUDGET bytes. */
static bool update(struct entry *entry, const struct tree_place *place, uint64_t *budget)
{
    struct fault fault = FAULT_NULL;
    bool is_fresh = false; /* all was looked at in this call */
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (holds(entry, place))
            return true;
        int r = step(entry, place, &is_fresh, budget, &fault);
        if (r == 0)
            return false;
        if (r == -EAGAIN && begin_anew(entry))
            continue;
        if (r == -EAGAIN)
            break;
        if (r < 0)
            fail(entry, r, &fault);
        if (r < 0 || is_fresh)
            return true;
    }
    (void)fault_set(&fault, "its files change while they are read");
    fail(entry, -EAGAIN, &fault);
    return true;
}

/* --- all of them -------------------------------------------------------------------------- */

/* Drops ENTRY, which is not listed. */
static void drop(struct digests *digests, struct entry *entry)
{
    TAILQ_REMOVE(&digests->entries, entry, link);
    digests->n--;
    entry_free(entry);
}

/* Counts the directories of USER; only those that are being read if IS_READING. */
static size_t count_of(const struct digests *digests, uint64_t user, bool is_reading)
{
    const struct entry *entry;
    size_t n = 0;
    TAILQ_FOREACH(entry, &digests->entries, link)
    n += entry->user == user && (!is_reading || entry->is_listed);
    return n;
}

/* Whether another directory of USER may be read. */
static bool has_place(const struct digests *digests, uint64_t user)
{
    return fair_may_have_one(count_of(digests, user, true), READING_MAX - digests->n_work);
}

/* Makes room for another entry of USER: drops the one that was not used for longest, of those of
 * the user who would have most. */
static void make_room(struct digests *digests, uint64_t user)
{
    struct entry *entry, *last = NULL;
    size_t most = 0;
    if (digests->n < ENTRIES_MAX)
        return;
    TAILQ_FOREACH_REVERSE(entry, &digests->entries, entries, link)
    {
        size_t n = count_of(digests, entry->user, false) + (entry->user == user);
        if (entry->is_listed || n <= most)
            continue;
        most = n;
        last = entry;
    }
    if (last)
        drop(digests, last);
}

static struct entry *find(const struct digests *digests, const char *root, const char *name)
{
    struct entry *entry;
    TAILQ_FOREACH(entry, &digests->entries, link)
    if (strcmp(entry->name, name) == 0 && strcmp(entry->root, root) == 0)
        break;
    return entry;
}

/* Notes that USER uses ENTRY, which from now on counts for the one of its users who has fewer: so
 * nobody loses a directory because others use it, too. */
static void use(struct digests *digests, struct entry *entry, uint64_t user)
{
    TAILQ_REMOVE(&digests->entries, entry, link);
    TAILQ_INSERT_HEAD(&digests->entries, entry, link);
    if (entry->user != user &&
        count_of(digests, user, false) < count_of(digests, entry->user, false))
        entry->user = user;
}

static struct entry *find_or_add(struct digests *digests, const char *root, const char *name,
                                 uint64_t user)
{
    struct entry *entry = find(digests, root, name);
    if (entry) {
        use(digests, entry, user);
        return entry;
    }
    make_room(digests, user);
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->cursor = (struct tree_cursor)TREE_CURSOR_NULL;
    entry->failed_ns = INT64_MIN / 2;
    entry->reading = ++digests->added << READING_BITS;
    entry->user = user;
    entry->root = strdup(root);
    entry->name = strdup(name);
    if (!entry->root || !entry->name) {
        entry_free(entry);
        return NULL;
    }
    TAILQ_INSERT_HEAD(&digests->entries, entry, link);
    digests->n++;
    return entry;
}

/* Returns whether it is listed: there may be no place. */
static bool enlist(struct digests *digests, struct entry *entry)
{
    if (entry->is_listed || !has_place(digests, entry->user))
        return entry->is_listed;
    entry->is_listed = true;
    entry->listed_ns = now_ns();
    entry->begun = 0;
    TAILQ_INSERT_TAIL(&digests->work, entry, of_work);
    digests->n_work++;
    return true;
}

static void unlist(struct digests *digests, struct entry *entry)
{
    if (!entry->is_listed)
        return;
    entry->is_listed = false;
    TAILQ_REMOVE(&digests->work, entry, of_work);
    digests->n_work--;
}

void digests_look(struct digests *digests, const char *root, const struct tree_place *place,
                  uint64_t user, uint64_t budget, struct rubric_digest *ret)
{
    struct entry *entry = find_or_add(digests, root, place->name, user);
    if (!entry) {
        *ret = (struct rubric_digest){.why = "out of memory", .is_short = true};
        return;
    }
    if (update(entry, place, &budget)) {
        *ret = entry->digest;
        return;
    }
    (void)enlist(digests, entry);
    *ret = (struct rubric_digest){.why = "its files have changed and are still being read",
                                  .is_short = true};
}

/* Returns the entry if its files have not been read since DIGEST was that of them; or NULL. */
static struct entry *find_as_read(const struct digests *digests, const char *root, const char *name,
                                  const struct rubric_digest *digest)
{
    struct entry *entry = *digest->hex ? find(digests, root, name) : NULL;
    bool is_as_read = entry && entry->state == ENTRY_KNOWN && *entry->digest.hex &&
                      entry->digest.reading == digest->reading;
    return is_as_read ? entry : NULL;
}

void digests_keep(struct digests *digests, const char *root, const char *name,
                  const struct rubric_digest *digest, void *value, void (*free_value)(void *))
{
    struct entry *entry = find_as_read(digests, root, name, digest);
    if (!entry) {
        free_value(value);
        return;
    }
    drop_kept(entry);
    entry->kept = value;
    entry->free_kept = free_value;
}

void *digests_kept(const struct digests *digests, const char *root, const char *name,
                   const struct rubric_digest *digest)
{
    const struct entry *entry = find_as_read(digests, root, name, digest);
    return entry ? entry->kept : NULL;
}

bool digests_knows(const struct digests *digests, const char *root, const char *name)
{
    const struct entry *entry = find(digests, root, name);
    return entry && entry->state == ENTRY_KNOWN && !entry->is_listed;
}

static uint64_t number_of(const struct entry *entry)
{
    return entry->reading >> READING_BITS;
}

bool digests_prepare(struct digests *digests, const char *root, const struct tree_place *place,
                     uint64_t budget, struct digests_asker *asker)
{
    struct entry *entry = find(digests, root, place->name);
    asker->awaits = 0;
    if (entry && entry->is_listed) {
        use(digests, entry, asker->user);
        asker->awaits = number_of(entry);
        return false;
    }
    if (entry && entry->state == ENTRY_KNOWN)
        return true;
    entry = find_or_add(digests, root, place->name, asker->user);
    if (!has_place(digests, asker->user))
        budget /= WITHOUT_PLACE; /* what is read then, but for all of it, is lost */
    if (!entry || update(entry, place, &budget))
        return true; /* who looks is told of a shortage */
    bool is_listed = enlist(digests, entry);
    asker->awaits = is_listed ? number_of(entry) : DIGESTS_A_PLACE;
    if (!is_listed)
        drop(digests, entry);
    return false;
}

bool digests_is_due(const struct digests *digests, const struct digests_asker *asker)
{
    const struct entry *entry;
    if (asker->awaits == DIGESTS_A_PLACE)
        return has_place(digests, asker->user);
    TAILQ_FOREACH(entry, &digests->work, of_work)
    if (number_of(entry) == asker->awaits)
        return false;
    return true;
}

/* Reads on in ENTRY. Returns whether that is done. */
static bool work_on(struct entry *entry, uint64_t budget)
{
    _cleanup_close_ int root = open(entry->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct tree_place place = {root, entry->name};
    struct fault fault = FAULT_NULL;
    if (root < 0) {
        int r = -errno;
        fail(entry, r, &fault);
    }
    return root < 0 || update(entry, &place, &budget);
}

/* Milliseconds until ENTRY can be read on. */
static int64_t wait_of(const struct entry *entry)
{
    return entry->state == ENTRY_READING ? tree_young_ms(&entry->tree, &entry->cursor) : 0;
}

int64_t digests_wait_ms(const struct digests *digests)
{
    const struct entry *entry;
    int64_t least_ms = -1;
    TAILQ_FOREACH(entry, &digests->work, of_work)
    {
        int64_t wait_ms = wait_of(entry);
        least_ms = least_ms < 0 ? wait_ms : MIN(least_ms, wait_ms);
    }
    return least_ms;
}

/* Puts the directories of USER behind those of all others. */
static void move_back(struct digests *digests, uint64_t user)
{
    struct entry *entry = TAILQ_FIRST(&digests->work), *next;
    for (size_t n = digests->n_work; n > 0; n--, entry = next) {
        next = TAILQ_NEXT(entry, of_work);
        if (entry->user != user)
            continue;
        TAILQ_REMOVE(&digests->work, entry, of_work);
        TAILQ_INSERT_TAIL(&digests->work, entry, of_work);
    }
}

/* Takes the next directory to be read to the end of the list. NULL: none can be read now. */
static struct entry *take_turn(struct digests *digests)
{
    struct entry *entry = TAILQ_FIRST(&digests->work);
    while (entry && wait_of(entry) > 0)
        entry = TAILQ_NEXT(entry, of_work);
    if (!entry)
        return NULL;
    move_back(digests, entry->user);
    TAILQ_REMOVE(&digests->work, entry, of_work);
    TAILQ_INSERT_TAIL(&digests->work, entry, of_work);
    return entry;
}

/* Users take turns, and then the directories of each: one that is large, or whose files keep
 * changing, delays no other, and those of one user delay another's by one portion. */
int64_t digests_work(struct digests *digests, uint64_t budget, bool *ret_ready)
{
    struct entry *entry = take_turn(digests);
    *ret_ready = entry && work_on(entry, budget);
    if (*ret_ready) {
        unlist(digests, entry);
        use(digests, entry, entry->user); /* somebody waits for it */
    }
    return digests_wait_ms(digests);
}
