/* SPDX-License-Identifier: MIT */
#include "testnames.h"
#include "language.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

/* Stands for the word that says what a file is; no name has this character (testfiles.h). */
#define ROLE '\1'

enum role { NONE, INPUT, OUTPUT };

/* A name, as far as its role is known. */
struct candidate {
    char *key; /* the name with ROLE for its word; owned */
    size_t name;
    enum role role;
};

struct candidates {
    struct candidate *items;
    size_t n;
    struct candidate *others; /* names of documents and sources that have a role */
    size_t n_others;
    size_t *left; /* owned; names without a role that are not clearly no tests */
    size_t n_left;
};

static void free_candidates(struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->n; i++)
        free(candidates->items[i].key);
    for (size_t i = 0; i < candidates->n_others; i++)
        free(candidates->others[i].key);
    free(candidates->items);
    free(candidates->others);
    free(candidates->left);
}

void test_pairs_deinit(struct test_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        free(pairs->pairs[i].name);
    free(pairs->pairs);
    free(pairs->left);
    *pairs = (struct test_pairs)TEST_PAIRS_NULL;
}

/* --- roles --------------------------------------------------------------------------------- */

static enum role role_of_word(const char *word, size_t n)
{
    static const struct {
        const char *word;
        enum role role;
    } words[] = {
        {"in", INPUT},      {"inp", INPUT},     {"input", INPUT},    {"inputs", INPUT},
        {"stdin", INPUT},   {"out", OUTPUT},    {"output", OUTPUT},  {"outputs", OUTPUT},
        {"ans", OUTPUT},    {"answer", OUTPUT}, {"answers", OUTPUT}, {"expected", OUTPUT},
        {"stdout", OUTPUT},
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].word) == n && strncasecmp(words[i].word, word, n) == 0)
            return words[i].role;
    return NONE;
}

/* Appends ROLE to KEY of LENGTH bytes; "expected_output" is one word. */
static size_t put_role(char *key, size_t length)
{
    size_t at = length;
    if (at > 0 && (key[at - 1] == '_' || key[at - 1] == '-'))
        at--;
    if (at > 0 && key[at - 1] == ROLE)
        return at;
    key[length] = ROLE;
    return length + 1;
}

/* Makes the key of NAME. The last word that says so decides the role. 0 or -ENOMEM. */
static int classify(const char *name, char **ret_key, enum role *ret_role)
{
    char *key = malloc(strlen(name) + 1);
    size_t length = 0;
    if (!key)
        return -ENOMEM;
    *ret_role = NONE;
    while (*name) {
        size_t n = 0;
        while (isalpha((unsigned char)name[n]))
            n++;
        enum role role = n > 0 ? role_of_word(name, n) : NONE;
        if (role != NONE) {
            *ret_role = role;
            length = put_role(key, length);
        } else {
            n = MAX(n, (size_t)1);
            memcpy(key + length, name, n);
            length += n;
        }
        name += n;
    }
    key[length] = '\0';
    *ret_key = key;
    return 0;
}

static int compare_names(const void *a, const void *b, void *names_)
{
    const char *const *names = names_;
    return strcmp(names[*(const size_t *)a], names[*(const size_t *)b]);
}

/* Returns the part of NAME behind its folders. */
static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static bool ends_in(const char *name, const char *const *endings, size_t n)
{
    const char *dot = strrchr(base_of(name), '.');
    for (size_t i = 0; dot && i < n; i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

/* Whether NAME is that of what Kattis shows of a sample instead of its files. */
static bool is_shown(const char *name)
{
    static const char *const endings[] = {"statement", "download"};
    return ends_in(name, endings, ARRAY_SIZE(endings));
}

/* Whether NAME is that of a document, of what comes with one, or of what a build leaves. */
static bool is_document(const char *name)
{
    static const char *const endings[] = {
        "md",  "rst",  "pdf",  "doc",  "docx", "odt", "ps",   "eps", "tex",  "sty",   "cls", "css",
        "png", "jpg",  "jpeg", "gif",  "svg",  "h",   "hpp",  "exe", "jar",  "class", "bat", "cmd",
        "xml", "html", "htm",  "json", "yaml", "yml", "toml", "ini", "desc", "hint",
    };
    static const char *const stems[] = {"README", "LICENSE", "COPYING", "Makefile", "CMakeLists"};
    const char *base = base_of(name);
    size_t n = strcspn(base, ".");
    for (size_t i = 0; i < ARRAY_SIZE(stems); i++)
        if (strlen(stems[i]) == n && strncasecmp(base, stems[i], n) == 0)
            return true;
    return is_shown(name) || ends_in(name, endings, ARRAY_SIZE(endings));
}

static bool is_hidden(const char *name)
{
    return name[0] == '.' || strstr(name, "/.") || strncmp(name, "__MACOSX/", 9) == 0;
}

bool test_name_is_other(const char *name)
{
    return is_hidden(name) || is_document(name) || language_of_file(name) != NULL;
}

/* Whether NAME, of a document, has the form of tests all the same, as 1.in.json has. */
static bool looks_like_data(const char *name)
{
    static const char *const endings[] = {"xml", "html", "htm", "json", "yaml", "yml"};
    const char *base = base_of(name), *digit = strpbrk(base, "0123456789");
    if (is_hidden(name) || !digit || !ends_in(name, endings, ARRAY_SIZE(endings)))
        return false;
    if (base[strspn(base, "0123456789")] == '.')
        return true;
    for (size_t n; *base; base += n > 0 ? n : 1) {
        for (n = 0; isalpha((unsigned char)base[n]);)
            n++;
        if (n > 0 && role_of_word(base, n) != NONE)
            return true;
    }
    return false;
}

/* What other names tell of a name. */
enum {
    IS_ANSWER = 1,   /* of the name without its ".a" */
    HAS_ANSWER = 2,  /* NAME.a is there */
    IS_NUMBERED = 4, /* as another one is that has its answer: it is an input, too */
};

/* Finds pairs of NAME and NAME.a. ORDER sorts the names. */
static void mark_polygon(const char *const *names, size_t n, const size_t *order,
                         unsigned char *marks)
{
    /* In that order NAME comes before NAME.a, but others may lie between. */
    for (size_t i = 0; i < n; i++) {
        const char *name = names[order[i]];
        size_t length = strlen(name), low = 0, high = i;
        if (length < 3 || strcmp(name + length - 2, ".a") != 0)
            continue;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            const char *other = names[order[middle]];
            int r = strncmp(other, name, length - 2);
            if (r == 0 && other[length - 2] == '\0') {
                marks[order[i]] |= IS_ANSWER;
                marks[order[middle]] |= HAS_ANSWER;
                break;
            }
            if (r < 0)
                low = middle + 1;
            else
                high = middle;
        }
    }
}

/* The bytes of NAME before the number at its end. */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name);
    while (length > 0 && isdigit((unsigned char)name[length - 1]))
        length--;
    return length;
}

static int compare_stems(const void *a_, const void *b_, void *names_)
{
    const char *const *names = names_;
    const char *a = names[*(const size_t *)a_], *b = names[*(const size_t *)b_];
    size_t m = stem_length(a), n = stem_length(b);
    int r = memcmp(a, b, MIN(m, n));
    return r != 0 ? r : m < n ? -1 : m > n;
}

/* Marks the names that are the same but for the number at their ends as one that has an answer.
 * NUMBERED has room for all. */
static void mark_numbered(const char *const *names, size_t n, size_t *numbered,
                          unsigned char *marks)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        if (names[i][stem_length(names[i])])
            numbered[found++] = i;
    qsort_r(numbered, found, sizeof(*numbered), compare_stems, (void *)(uintptr_t)names);
    for (size_t i = 0, end; i < found; i = end) {
        bool has_answer = false;
        for (end = i; end < found &&
                      compare_stems(&numbered[i], &numbered[end], (void *)(uintptr_t)names) == 0;
             end++)
            has_answer = has_answer || (marks[numbered[end]] & HAS_ANSWER);
        for (size_t k = i; has_answer && k < end; k++)
            marks[numbered[k]] |= IS_NUMBERED;
    }
}

/* Finds the role of ITEM, of NAME without an answer beside it. 0 or -ENOMEM. */
static int take_role(const char *name, unsigned char marks, struct candidate *item)
{
    size_t length = strlen(name);
    int r = classify(name, &item->key, &item->role);
    if (r < 0 || item->role != NONE)
        return r;
    if (marks & IS_NUMBERED) {
        item->role = INPUT;
    } else if (length > 2 && strcmp(name + length - 2, ".a") == 0 &&
               strncmp(base_of(name), "lib", 3) != 0) { /* a library of C */
        item->role = OUTPUT;
        item->key[length - 2] = '\0';
    }
    return 0;
}

/* Adds a NAME that is not like those of tests. 0 or -ENOMEM. */
static int add_other(const char *const *names, size_t name, struct candidates *candidates)
{
    struct candidate *item = &candidates->others[candidates->n_others];
    if (looks_like_data(names[name])) {
        candidates->left[candidates->n_left++] = name;
        return 0;
    }
    if (is_hidden(names[name]) || is_shown(names[name]))
        return 0;
    *item = (struct candidate){.name = name};
    int r = classify(names[name], &item->key, &item->role);
    if (r == 0 && item->role != NONE)
        candidates->n_others++;
    else if (r == 0)
        free(item->key);
    return r;
}

static int add_candidate(const char *const *names, size_t name, const unsigned char *marks,
                         struct candidates *candidates)
{
    struct candidate *item = &candidates->items[candidates->n];
    *item = (struct candidate){.name = name};
    if (test_name_is_other(names[name]))
        return add_other(names, name, candidates);
    if (marks[name] & (IS_ANSWER | HAS_ANSWER)) {
        bool is_answer = marks[name] & IS_ANSWER;
        size_t length = strlen(names[name]) - (is_answer ? 2 : 0);
        item->role = is_answer ? OUTPUT : INPUT;
        item->key = strndup(names[name], length);
        if (!item->key)
            return -ENOMEM;
    } else {
        int r = take_role(names[name], marks[name], item);
        if (r < 0)
            return r;
    }
    if (item->role != NONE) {
        candidates->n++;
        return 0;
    }
    free(item->key);
    candidates->left[candidates->n_left++] = name;
    return 0;
}

static int find_candidates(const char *const *names, size_t n, struct candidates *candidates)
{
    _cleanup_free_ size_t *order = calloc(n + 1, sizeof(*order));
    _cleanup_free_ unsigned char *marks = calloc(n + 1, sizeof(*marks));
    candidates->items = calloc(n + 1, sizeof(*candidates->items));
    candidates->others = calloc(n + 1, sizeof(*candidates->others));
    candidates->left = calloc(n + 1, sizeof(*candidates->left));
    if (!order || !marks || !candidates->items || !candidates->others || !candidates->left)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof(*order), compare_names, (void *)(uintptr_t)names);
    mark_polygon(names, n, order, marks);
    mark_numbered(names, n, order, marks);
    for (size_t i = 0; i < n; i++) {
        int r = add_candidate(names, i, marks, candidates);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- pairs --------------------------------------------------------------------------------- */

static int compare_candidates(const void *a_, const void *b_)
{
    const struct candidate *a = a_, *b = b_;
    int r = strcmp(a->key, b->key);
    return r != 0 ? r : (int)a->role - (int)b->role;
}

/* Returns how many of the N ITEMS, sorted by their keys, have the key of the first. */
static size_t count_same(const struct candidate *items, size_t n)
{
    size_t count = 1;
    while (count < n && strcmp(items[0].key, items[count].key) == 0)
        count++;
    return count;
}

/* Adds the documents and sources that form pairs to those left, so that the user hears of them: a
 * test may have such names, as in/big.json and out/big.json. */
static void leave_pairs(struct candidates *candidates)
{
    const struct candidate *others = candidates->others;
    qsort(candidates->others, candidates->n_others, sizeof(*others), compare_candidates);
    for (size_t i = 0, count; i < candidates->n_others; i += count) {
        count = count_same(&others[i], candidates->n_others - i);
        bool is_pair = others[i].role != others[i + count - 1].role;
        for (size_t k = i; is_pair && k < i + count; k++)
            candidates->left[candidates->n_left++] = others[k].name;
    }
}

/* Checks the COUNT candidates of one key, sorted by their roles. */
static int check_group(const char *const *names, const struct candidate *group, size_t count,
                       struct fault *fault)
{
    const char *first = names[group[0].name], *last = names[group[count - 1].name];
    if (count == 1)
        return fault_set(fault,
                         group[0].role == INPUT
                             ? "%s is an input without an expected output beside it"
                             : "%s is an expected output without an input beside it",
                         first);
    if (group[0].role == OUTPUT || group[1].role == INPUT)
        return fault_set(fault, "%s and %s are both the %s of one test", first,
                         names[group[1].name], group[0].role == INPUT ? "input" : "output");
    if (count > 2)
        return fault_set(fault, "%s and %s are both the expected output for %s",
                         names[group[1].name], last, first);
    return 0;
}

/* Makes a name for people of KEY: without the role, what joined it to the rest, and ".txt". */
static char *make_name(const char *key, const char *input)
{
    static const char joints[] = "._-/ ";
    char *name = malloc(strlen(key) + 1);
    size_t length = 0;
    if (!name)
        return NULL;
    for (; *key; key++) {
        bool joint = strchr(joints, *key) != NULL;
        bool double_joint = joint && (length == 0 || strchr(joints, name[length - 1]));
        if (*key != ROLE && !double_joint)
            name[length++] = *key;
    }
    if (length > 4 && strncmp(name + length - 4, ".txt", 4) == 0)
        length -= 4;
    while (length > 0 && strchr(joints, name[length - 1]))
        length--;
    name[length] = '\0';
    if (length > 0 && strcmp(name, "txt") != 0)
        return name;
    free(name);
    return strdup(input);
}

static int compare_versions(const void *a, const void *b, void *names_)
{
    const char *const *names = names_;
    return strverscmp(names[*(const size_t *)a], names[*(const size_t *)b]);
}

static int compare_pairs(const void *a, const void *b)
{
    return strverscmp(((const struct test_pair *)a)->name, ((const struct test_pair *)b)->name);
}

static int make_pairs(const char *const *names, const struct candidates *candidates,
                      struct test_pairs *pairs, struct fault *fault)
{
    const struct candidate *items = candidates->items;
    for (size_t i = 0, count; i < candidates->n; i += count) {
        count = count_same(&items[i], candidates->n - i);
        int r = check_group(names, &items[i], count, fault);
        if (r < 0)
            return r;
        if (pairs->n == TEST_PAIRS_MAX)
            return fault_set(fault, "there are more than %d tests", TEST_PAIRS_MAX);
        struct test_pair *pair = &pairs->pairs[pairs->n];
        *pair = (struct test_pair){.input = items[i].name, .output = items[i + 1].name};
        pair->name = make_name(items[i].key, names[pair->input]);
        if (!pair->name)
            return -ENOMEM;
        pairs->n++;
    }
    return 0;
}

/* Has tests whose names became the same be called as their inputs are. */
static int tell_apart(const char *const *names, struct test_pairs *pairs)
{
    bool same = false;
    for (size_t i = 1; i < pairs->n; i++)
        same = same || strcmp(pairs->pairs[i - 1].name, pairs->pairs[i].name) == 0;
    for (size_t i = 0; same && i < pairs->n; i++) {
        char *name = strdup(names[pairs->pairs[i].input]);
        if (!name)
            return -ENOMEM;
        free(pairs->pairs[i].name);
        pairs->pairs[i].name = name;
    }
    if (same)
        qsort(pairs->pairs, pairs->n, sizeof(*pairs->pairs), compare_pairs);
    return 0;
}

/* Removes the folder that all tests lie in from their names. */
static void drop_folder(struct test_pairs *pairs)
{
    const char *first = pairs->pairs[0].name, *slash = strrchr(first, '/');
    size_t n = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < pairs->n; i++) {
        while (n > 0 && strncmp(first, pairs->pairs[i].name, n) != 0)
            for (n--; n > 0 && first[n - 1] != '/';)
                n--;
    }
    for (size_t i = 0; n > 0 && i < pairs->n; i++) {
        char *name = pairs->pairs[i].name;
        memmove(name, name + n, strlen(name + n) + 1);
    }
}

int test_pairs_find(const char *const *names, size_t n, struct test_pairs *ret, struct fault *fault)
{
    _cleanup_(free_candidates) struct candidates candidates = {.items = NULL};
    _cleanup_test_pairs_ struct test_pairs pairs = TEST_PAIRS_NULL;
    int r = find_candidates(names, n, &candidates);
    if (r < 0)
        return r;
    if (candidates.n == 0)
        return fault_set(fault,
                         "there are no tests among its %zu file%s; tests are pairs such as "
                         "1.in and 1.out, 1.in and 1.ans, input1.txt and output1.txt, "
                         "in/1.txt and out/1.txt, or 1 and 1.a",
                         n, n == 1 ? "" : "s");
    leave_pairs(&candidates);
    qsort(candidates.items, candidates.n, sizeof(*candidates.items), compare_candidates);
    pairs.pairs = calloc(candidates.n, sizeof(*pairs.pairs));
    if (!pairs.pairs)
        return -ENOMEM;
    r = make_pairs(names, &candidates, &pairs, fault);
    if (r < 0)
        return r;
    qsort(pairs.pairs, pairs.n, sizeof(*pairs.pairs), compare_pairs);
    r = tell_apart(names, &pairs);
    if (r == 0)
        drop_folder(&pairs);
    if (r < 0)
        return r;
    qsort_r(candidates.left, candidates.n_left, sizeof(*candidates.left), compare_versions,
            (void *)(uintptr_t)names);
    pairs.left = TAKE_PTR(candidates.left);
    pairs.n_left = candidates.n_left;
    *ret = TAKE_STRUCT(pairs, TEST_PAIRS_NULL);
    return r;
}
