/* SPDX-License-Identifier: MIT */
#include "results.h"

#include "evidence.h"

#include "proto/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define ROOM_FIRST 1024
/* Bytes of a code or a task class; the rest is cut off. */
#define CODE_MAX 200

/* The identity of a result. */
struct key {
    uint32_t case_no, sample, file_no;
};

void results_deinit(struct results *results)
{
    struct intern *const interns[] = {
        &results->cases, &results->classes,   &results->populations_index,
        &results->codes, &results->mode_sets, &results->errors,
    };
    for (size_t i = 0; i < results->populations_index.n; i++)
        json_decref(results->populations[i].isolation);
    for (size_t i = 0; i < ARRAY_SIZE(interns); i++)
        intern_deinit(interns[i]);
    facts_deinit(&results->facts);
    worst_deinit(&results->worst);
    firsts_deinit(&results->of_codes);
    firsts_deinit(&results->of_errors);
    free(results->items);
    free(results->slots);
    free(results->case_digests);
    free(results->next_sample);
    *results = (struct results)RESULTS_NULL;
}

static int too_many(struct fault *fault, const char *what, size_t most)
{
    (void)fault_set(fault, "more than %zu %s", most, what);
    return -EFBIG;
}

/* Sets *RET to the number of TEXT in TABLE. -EFBIG if TABLE would hold more than MOST. */
static int put_bounded(struct intern *table, const void *text, size_t n, size_t most,
                       const char *what, uint16_t *ret, struct fault *fault)
{
    uint32_t number;
    if (table->n >= most && intern_find(table, text, n) == INTERN_NONE)
        return too_many(fault, what, most);
    int r = intern_put(table, text, n, &number);
    if (r == 0)
        *ret = (uint16_t)number;
    return r;
}

/* Likewise, but takes OTHERS in place of TEXT if TABLE would hold more than MOST. */
static int put_or_others(struct intern *table, const void *text, size_t n, const void *others,
                         size_t n_others, size_t most, uint16_t *ret)
{
    uint32_t number;
    if (table->n >= most && intern_find(table, text, n) == INTERN_NONE) {
        text = others;
        n = n_others;
    }
    int r = intern_put(table, text, n, &number);
    if (r == 0)
        *ret = (uint16_t)number;
    return r;
}

/* --- cases -------------------------------------------------------------------------------- */

/* Reallocates ARRAY, which has *ROOM items of SIZE bytes, so that it holds N. Zeroes the new ones.
 * Returns NULL, and leaves ARRAY alone, when memory runs out. */
static void *grow(void *array, size_t *room, size_t size, size_t n)
{
    if (n <= *room)
        return array;
    size_t wanted = MAX(*room + *room / 2, MAX(n, (size_t)ROOM_FIRST));
    char *grown = reallocarray(array, wanted, size);
    if (!grown)
        return NULL;
    memset(grown + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return grown;
}

/* The first digest of a case stays; a line with another one counts as changed. */
static void note_digest(struct results *results, uint32_t case_no, const struct line *line)
{
    struct case_digest digest, *known = &results->case_digests[case_no];
    if (!case_digest_read(json_string_value(json_object_get(line->run, "case_digest")), &digest))
        return;
    if (!case_digest_is_known(known))
        *known = digest;
    else if (case_digest_differs(known, &digest))
        results->changed_cases++;
}

static int put_case(struct results *results, const struct line *line, uint32_t *ret)
{
    int r = intern_put(&results->cases, line->id, line->id_length, ret);
    if (r < 0)
        return r;
    void *digests = grow(results->case_digests, &results->digests_room,
                         sizeof(*results->case_digests), results->cases.n);
    if (!digests)
        return -ENOMEM;
    results->case_digests = digests;
    note_digest(results, *ret, line);
    return 0;
}

/* --- populations -------------------------------------------------------------------------- */

static int put_population(struct results *results, const struct line *line, uint16_t *ret,
                          struct fault *fault)
{
    const char *class = json_string_value(json_object_get(line->isolation, "class"));
    const char *digest = json_string_value(json_object_get(line->isolation, "digest"));
    char text[512];
    if (line->state == LINE_ERROR)
        return 0;
    int n = snprintf(text, sizeof(text), "%.200s %.200s %d", class ? class : "",
                     digest ? digest : "", line->shared);
    size_t before = results->populations_index.n;
    int r = put_bounded(&results->populations_index, text, (size_t)n, RESULTS_POPULATIONS_MAX,
                        "different isolations", ret, fault);
    if (r == 0 && results->populations_index.n > before) {
        results->populations[*ret] = (struct population){
            .isolation = line->isolation ? json_incref((json_t *)(uintptr_t)line->isolation) : NULL,
            .shared = line->shared,
        };
    }
    return r;
}

/* --- failure modes ------------------------------------------------------------------------ */

static int put_code(struct results *results, const char *severity, const char *code, uint16_t *ret)
{
    static const char others[] = "info\0" RESULTS_OTHERS;
    char text[CODE_MAX + 16];
    bool mild = severity && (strcmp(severity, "warn") == 0 || strcmp(severity, "info") == 0);
    int n = snprintf(text, sizeof(text), "%s%c%.*s", mild ? severity : "block", '\0',
                     (int)utf8_cut(code, strlen(code), CODE_MAX), code);
    return put_or_others(&results->codes, text, (size_t)n, others, sizeof(others) - 1,
                         RESULTS_CODES_MAX, ret);
}

/* Adds CODE to a set of N unless it is there or the set is full. Returns the new N. */
static size_t add_to_set(uint16_t set[RESULTS_MODES_MAX], size_t n, uint16_t code)
{
    for (size_t i = 0; i < n; i++)
        if (set[i] == code)
            return n;
    if (n < RESULTS_MODES_MAX)
        set[n++] = code;
    return n;
}

static int put_reason(struct results *results, const struct line *line, uint32_t item,
                      const char *output, uint16_t set[RESULTS_MODES_MAX], size_t *n)
{
    const struct reason reason = {line->detail, output};
    char code[CODE_MAX + 1];
    size_t length = strcspn(line->reason, ":");
    (void)snprintf(code, sizeof(code), "%.*s",
                   (int)utf8_cut(line->reason, length, sizeof(code) - 1), line->reason);
    int r = put_code(results, "block", code, &set[0]);
    *n = 1;
    return r < 0 ? r : firsts_add(&results->of_codes, set[0], item, &reason);
}

static int put_modes(struct results *results, const struct line *line, uint32_t item,
                     const char *output, uint16_t *ret)
{
    uint16_t set[RESULTS_MODES_MAX];
    size_t n = 0;
    int r = line->reason ? put_reason(results, line, item, output, set, &n) : 0;
    for (size_t i = 0; r == 0 && i < json_array_size(line->failure_modes); i++) {
        const json_t *mode = json_array_get(line->failure_modes, i);
        const char *severity = json_string_value(json_object_get(mode, "severity"));
        uint16_t code = 0;
        r = put_code(results, severity, json_string_value(json_object_get(mode, "code")), &code);
        if (r < 0)
            break;
        size_t before = n;
        n = add_to_set(set, n, code);
        const struct reason reason = {json_string_value(json_object_get(mode, "detail")), output};
        if (n > before)
            r = firsts_add(&results->of_codes, code, item, &reason);
    }
    return r < 0 ? r
                 : put_or_others(&results->mode_sets, set, n * sizeof(set[0]), "", 0,
                                 RESULTS_MODE_SETS_MAX, ret);
}

/* Returns the first detail that says why a result failed, or NULL. */
static const char *detail_of(const struct line *line)
{
    for (size_t i = 0; i < json_array_size(line->failure_modes); i++) {
        const json_t *detail = json_object_get(json_array_get(line->failure_modes, i), "detail");
        if (json_string_length(detail) > 0)
            return json_string_value(detail);
    }
    return line->state == LINE_ERROR ? line->message : line->detail;
}

static int put_error(struct results *results, const struct line *line, uint32_t item, uint16_t *ret)
{
    const struct reason reason = {.detail = line->message};
    size_t n = utf8_cut(line->code, strlen(line->code), CODE_MAX);
    int r = put_or_others(&results->errors, line->code, n, RESULTS_OTHERS, strlen(RESULTS_OTHERS),
                          RESULTS_CODES_MAX, ret);
    return r < 0 ? r : firsts_add(&results->of_errors, *ret, item, &reason);
}

const char *results_code(const struct results *results, uint16_t code, const char **ret_severity)
{
    const char *text = intern_text(&results->codes, code, NULL);
    if (ret_severity)
        *ret_severity = text;
    return text + strlen(text) + 1;
}

size_t results_mode_set(const struct results *results, uint16_t modes,
                        uint16_t ret[RESULTS_MODES_MAX])
{
    size_t n;
    const char *text = intern_text(&results->mode_sets, modes, &n);
    assert(n <= RESULTS_MODES_MAX * sizeof(*ret));
    memcpy(ret, text, n);
    return n / sizeof(*ret);
}

json_t *results_name(const struct results *results, uint32_t item)
{
    assert(item < results->n);
    const struct result *result = &results->items[item];
    size_t n;
    const char *id = intern_text(&results->cases, result->case_no, &n);
    if (results->n > results->cases.n && !result->is_first)
        return json_sprintf("%s#%" PRIu32, id, result->sample);
    return json_stringn(id, n);
}

/* --- results ------------------------------------------------------------------------------ */

/* Takes back what the old result at ITEM contributed to the sums and examples. */
static void forget(struct results *results, uint32_t item)
{
    const struct result *old = &results->items[item];
    uint16_t codes[RESULTS_MODES_MAX];
    results->replaced++;
    results->cost_of_earlier += old->cost_usd;
    if (old->state == LINE_ERROR) {
        firsts_forget(&results->of_errors, old->modes, item);
        return;
    }
    size_t n = results_mode_set(results, old->modes, codes);
    for (size_t i = 0; i < n; i++)
        firsts_forget(&results->of_codes, codes[i], item);
    if (old->state == LINE_FAILED)
        worst_forget(&results->worst, item);
    assert(results->populations[old->population].n > 0);
    results->populations[old->population].n--;
}

static uint32_t hash_of(const struct key *key)
{
    uint64_t hash = key->case_no ^ (uint64_t)key->sample << 32;
    hash = (hash ^ hash >> 31 ^ (uint64_t)key->file_no << 17) * UINT64_C(0xd6e8feb86659fd93);
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(hash >> 32);
}

static bool is_key(const struct result *result, const struct key *key)
{
    return result->case_no == key->case_no && result->sample == key->sample &&
           result->file_no == key->file_no;
}

/* Returns the slot of the item with KEY, or the free one where it belongs. */
static size_t slot_of(const struct results *results, const struct key *key)
{
    size_t slot = hash_of(key) & (results->n_slots - 1);
    assert((results->n_slots & (results->n_slots - 1)) == 0);
    assert(results->n < results->n_slots); /* so that the search ends */
    while (results->slots[slot] != 0 && !is_key(&results->items[results->slots[slot] - 1], key))
        slot = (slot + 1) & (results->n_slots - 1);
    return slot;
}

static int grow_slots(struct results *results)
{
    if (results->n_slots > 0 && results->n < results->n_slots / 4 * 3)
        return 0;
    size_t n_slots = MAX(2 * results->n_slots, (size_t)ROOM_FIRST);
    uint32_t *slots = calloc(n_slots, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(results->slots);
    results->slots = slots;
    results->n_slots = n_slots;
    for (size_t i = 0; i < results->n; i++) {
        const struct result *item = &results->items[i];
        const struct key key = {item->case_no, item->sample, item->file_no};
        results->slots[slot_of(results, &key)] = (uint32_t)i + 1;
    }
    return 0;
}

static int grow_items(struct results *results)
{
    if (results->n < results->room)
        return 0;
    if (results->n >= UINT32_MAX - 1)
        return -EFBIG;
    size_t room = MAX(results->room + results->room / 2, (size_t)ROOM_FIRST);
    struct result *grown = reallocarray(results->items, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    results->items = grown;
    results->room = room;
    return 0;
}

/* Numbers the unnumbered lines of a case in their order. */
static int next_sample(struct results *results, uint32_t case_no, uint32_t *ret)
{
    void *samples = grow(results->next_sample, &results->samples_room,
                         sizeof(*results->next_sample), (size_t)case_no + 1);
    if (!samples)
        return -ENOMEM;
    results->next_sample = samples;
    *ret = ++results->next_sample[case_no];
    return 0;
}

/* Finds the slot of the item that LINE is, and makes room for a new one. */
static int find_slot(struct results *results, const struct line *line, struct key *key, size_t *ret)
{
    int r = put_case(results, line, &key->case_no);
    if (r == 0 && line->is_unnumbered)
        r = next_sample(results, key->case_no, &key->sample);
    if (r == 0)
        r = grow_slots(results);
    if (r == 0)
        r = grow_items(results);
    if (r < 0)
        return r;
    *ret = slot_of(results, key);
    return 0;
}

static int put_parts(struct results *results, const struct line *line, uint32_t item,
                     struct result *result, struct fault *fault)
{
    _cleanup_free_ char *output = NULL;
    const char *name = line->task_class ? line->task_class : "(not known)";
    int r = put_bounded(&results->classes, name, utf8_cut(name, strlen(name), CODE_MAX),
                        RESULTS_CLASSES_MAX, "task classes", &result->class_no, fault);
    if (r == 0)
        r = put_population(results, line, &result->population, fault);
    if (r == 0 && line->state == LINE_FAILED)
        r = evidence_of(line, &output);
    if (r == 0)
        r = line->state == LINE_ERROR ? put_error(results, line, item, &result->modes)
                                      : put_modes(results, line, item, output, &result->modes);
    const struct reason reason = {detail_of(line), output};
    if (r == 0 && line->state == LINE_FAILED)
        r = worst_add(&results->worst, item, line->score, &reason);
    if (r == 0 && line->state != LINE_PASSED && results->spool)
        r = spool_put(results->spool, &reason, &result->said, fault);
    return r < 0 ? r : facts_add(&results->facts, line);
}

int results_add(struct results *results, const struct line *line, uint16_t file_no,
                struct fault *fault)
{
    assert(line->state != LINE_NOTE);
    struct key key = {.sample = line->sample, .file_no = file_no};
    size_t slot;
    int r = find_slot(results, line, &key, &slot);
    if (r < 0)
        return r;
    bool replaces = results->slots[slot] != 0;
    uint32_t item = replaces ? results->slots[slot] - 1 : (uint32_t)results->n;
    struct result result = {
        .score = line->score,
        .cost_usd = line->cost_usd,
        .case_no = key.case_no,
        .sample = key.sample,
        .wall_ms = line->wall_ms,
        .queue_ms = line->queue_ms,
        .file_no = file_no,
        .population = POPULATION_NONE,
        .state = line->state,
        .is_first = line->first,
    };
    if (replaces)
        forget(results, item);
    r = put_parts(results, line, item, &result, fault);
    if (r < 0)
        return r;
    assert((result.population == POPULATION_NONE) == (line->state == LINE_ERROR));
    if (result.population != POPULATION_NONE)
        results->populations[result.population].n++;
    results->items[item] = result;
    results->slots[slot] = item + 1;
    results->n += !replaces;
    results->earlier_attempts += line->attempts > 1 ? line->attempts - 1 : 0;
    results->cost_of_earlier += line->cost_of_earlier;
    return replaces;
}

size_t results_populations(const struct results *results)
{
    size_t n = 0;
    for (size_t i = 0; i < results->populations_index.n; i++)
        n += results->populations[i].n > 0;
    return n;
}
