/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "rubric_cases.h"
#include "rubric_fields.h"
#include "rubric_place.h"
#include "rubric_verdict.h"
#include "single.h"

#include "client/cli/files.h"
#include "client/connection/connect.h"
#include "client/terminal/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/limits.h>
#include <string.h>

/* The daemon takes no larger task_class.json. */
#define TASK_CLASS_FILE_MAX ((size_t)1 << 20)
/* Task classes of one bench. */
#define CLASSES_MAX 10000

struct check_options {
    bool verbose;
};

/* What is checked. */
struct checked {
    bool verbose;
    char *root;    /* owned: the bench root */
    json_t *names; /* of the task classes: object of name to the codes not seen yet */
    json_t *cases; /* array of rubric_cases_load() */
    uint64_t bad;  /* mistakes in files */
    uint64_t graded, as_expected, unexpected, without_verdict;
    struct rubric_failure last_failure;
    struct fault last_error; /* why the last case without a verdict has none */
    uint64_t repeated;       /* cases without one for the same reason as the one before */
};

static void checked_deinit(struct checked *checked)
{
    free(checked->root);
    json_decref(checked->names);
    json_decref(checked->cases);
    rubric_failure_deinit(&checked->last_failure);
}

/* --- task_class.json ---------------------------------------------------------------------- */

/* Checks the list NAME and enters its items into SEEN, if that is not NULL. */
static int check_list(const json_t *list, const char *name, json_t *seen, struct fault *fault)
{
    _cleanup_json_ json_t *known = json_object();
    for (size_t i = 0; i < json_array_size(list); i++) {
        char where[FIELD_PATH_MAX];
        const char *text;
        int r = field_text_at(list, i, name, where, &text, fault);
        if (r < 0)
            return r;
        if (json_object_get(known, text))
            return fault_set(fault, "%s: \"%.200s\" is there twice", where, text);
        if (json_object_set_new(known, text, json_true()) < 0 ||
            (seen && json_object_set_new(seen, text, json_true()) < 0))
            return -ENOMEM;
    }
    return 0;
}

/* Checks what a task class wants to be loaded once; the daemon says which names are good. */
static int check_warm(const json_t *warm, struct fault *fault)
{
    enum { MODULES, HELPERS, FIELDS };
    static const struct field table[FIELDS] = {
        [MODULES] = {"modules", FIELD_ARRAY, FIELD_NULLABLE},
        [HELPERS] = {"helpers", FIELD_ARRAY, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    int r = warm ? fields_decode(warm, "warm", table, FIELDS, values, fault) : 0;
    if (warm && r == 0)
        r = check_list(values[MODULES], "warm.modules", NULL, fault);
    if (warm && r == 0)
        r = check_list(values[HELPERS], "warm.helpers", NULL, fault);
    return r;
}

static int check_lists(const char *path, json_t *unseen, struct fault *fault)
{
    enum { BREAKDOWN_KEYS, FAILURE_MODES, DESCRIPTION, WARM, FIELDS };
    static const struct field table[FIELDS] = {
        [BREAKDOWN_KEYS] = {"breakdown_keys", FIELD_ARRAY, FIELD_NULLABLE},
        [FAILURE_MODES] = {"failure_modes", FIELD_ARRAY, FIELD_NULLABLE},
        [DESCRIPTION] = {"description", FIELD_STRING, FIELD_NULLABLE},
        [WARM] = {"warm", FIELD_OBJECT, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    _cleanup_json_ json_t *object = NULL;
    int r = file_read_all(path, TASK_CLASS_FILE_MAX, &text, fault);
    if (r < 0)
        return r;
    struct fault why = FAULT_NULL;
    r = json_read_object(text.data, text.length, &object, &why);
    if (r == 0)
        r = rubric_fields_decode(object, table, FIELDS, values, &why);
    if (r == 0)
        r = check_list(values[BREAKDOWN_KEYS], "breakdown_keys", NULL, &why);
    if (r == 0)
        r = check_list(values[FAILURE_MODES], "failure_modes", unseen, &why);
    if (r == 0)
        r = check_warm(values[WARM], &why);
    if (r < 0)
        (void)fault_set(fault, "%s: %s", path, why.text[0] ? why.text : strerror(-r));
    return r;
}

/* Adds the task class NAME of the bench and checks its lists. 0 or -ENOMEM. */
static int add_class(struct checked *checked, const char *name)
{
    char path[PATH_MAX];
    struct fault fault = FAULT_NULL;
    json_t *unseen = json_object();
    if (json_object_set_new(checked->names, name, unseen) < 0)
        return -ENOMEM;
    (void)snprintf(path, sizeof(path), "%s/%s/task_class.json", checked->root, name);
    if (access(path, F_OK) < 0) {
        if (checked->verbose)
            complain("%s: there is none: scores may use any breakdown key and failure mode", path);
    } else if (check_lists(path, unseen, &fault) < 0) {
        complain("%s", fault.text);
        checked->bad++;
    }
    return 0;
}

/* --- what DIR is -------------------------------------------------------------------------- */

static bool has_rubric(const char *folder, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s/rubric.py", folder, name);
    return n < (int)sizeof(path) && access(path, F_OK) == 0;
}

static int wanted(const struct dirent *entry)
{
    return rubric_name_is_good(entry->d_name);
}

/* Adds each task class of the bench at checked->root. */
static int add_bench(struct checked *checked, const char *dir, struct fault *fault)
{
    struct dirent **entries = NULL;
    int n = scandir(checked->root, &entries, wanted, alphasort), r = 0;
    if (n < 0)
        return fault_set(fault, "%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (r == 0 && has_rubric(checked->root, entries[i]->d_name))
            r = json_object_size(checked->names) < CLASSES_MAX
                    ? add_class(checked, entries[i]->d_name)
                    : fault_set(fault, "%s: more than %d task classes", dir, CLASSES_MAX);
        free(entries[i]);
    }
    free(entries);
    if (r == 0 && json_object_size(checked->names) == 0)
        return fault_set(fault, "%s: there is no rubric.py in it, nor in a folder of it", dir);
    return r;
}

/* Adds the cases of CLASSES to checked->cases. -ENOENT if there is no cases.jsonl. */
static int add_cases(struct checked *checked, const struct rubric_classes *classes)
{
    _cleanup_json_ json_t *cases = NULL;
    int r = rubric_cases_load(classes, &cases, &checked->bad);
    return r == 0 && json_array_extend(checked->cases, cases) < 0 ? -ENOMEM : r;
}

/* Adds the cases beside each task class of a bench. -ENOENT if none has any. */
static int add_cases_of_classes(struct checked *checked)
{
    int found = -ENOENT;
    const char *name;
    json_t *unseen;
    json_object_foreach(checked->names, name, unseen)
    {
        char folder[PATH_MAX];
        _cleanup_json_ json_t *only = json_pack("{s:b}", name, 1);
        (void)snprintf(folder, sizeof(folder), "%s/%s", checked->root, name);
        const struct rubric_classes classes = {.folder = folder, .names = only};
        int r = only ? add_cases(checked, &classes) : -ENOMEM;
        if (r < 0 && r != -ENOENT)
            return r;
        if (r == 0)
            found = 0;
    }
    return found;
}

/* Reads the cases beside the rubric, else those of the bench that it lies in; of a bench, those of
 * its own file and of all its task classes. */
static int load_cases(struct checked *checked, const char *folder, bool is_bench,
                      struct fault *fault)
{
    struct rubric_classes own = {.folder = folder, .names = checked->names};
    struct rubric_classes of_bench = {checked->root, checked->names, true};
    int r = is_bench ? add_cases_of_classes(checked) : add_cases(checked, &own);
    if (r == -ENOENT || (r == 0 && is_bench)) {
        int bench = add_cases(checked, &of_bench);
        r = bench == -ENOENT ? r : bench;
    }
    if (r == -ENOENT)
        return fault_set(fault, "%s/cases.jsonl: there is none%s, so there is nothing to run",
                         folder, is_bench ? ", nor in a folder with a rubric" : "");
    if (r == 0 && json_array_size(checked->cases) == 0 && checked->bad == 0)
        return fault_set(fault, "%s/cases.jsonl: it has no case", folder);
    return r;
}

/* Names the task classes of which no verdict will be compared with anything. */
static void check_coverage(struct checked *checked)
{
    const char *name;
    json_t *unseen, *one;
    size_t i;
    json_object_foreach(checked->names, name, unseen)
    {
        size_t cases = 0, compared = 0;
        json_array_foreach(checked->cases, i, one)
        {
            const json_t *job = json_object_get(one, "job");
            if (strcmp(json_string_value(json_object_get(job, "task_class")), name) != 0)
                continue;
            cases++;
            compared += json_object_get(one, "expected") != NULL;
        }
        if (compared > 0)
            continue;
        checked->bad++;
        if (cases == 0)
            complain("%s: it has no case, so nothing of it is checked", name);
        else
            complain("%s: no expected.jsonl has the verdict of any of its cases, so none is "
                     "compared with anything",
                     name);
    }
}

static int load(struct checked *checked, const char *dir, struct fault *fault)
{
    _cleanup_free_ char *folder = realpath(dir, NULL);
    if (!folder)
        return fault_set(fault, "%s: %s", dir, strerror(errno));
    bool is_bench = !has_rubric(folder, ".");
    checked->names = json_object();
    checked->cases = json_array();
    checked->root = strdup(folder);
    if (!checked->names || !checked->cases || !checked->root)
        return -ENOMEM;
    int r;
    if (is_bench) {
        r = add_bench(checked, dir, fault);
    } else {
        _cleanup_free_ char *path = NULL;
        const char *name;
        r = rubric_place(folder, &path, &name, fault);
        if (r == 0) {
            (void)dirname(checked->root);
            r = add_class(checked, name);
        }
    }
    if (r == 0)
        r = load_cases(checked, folder, is_bench, fault);
    if (r == 0)
        check_coverage(checked);
    return r;
}

/* --- running ------------------------------------------------------------------------------ */

/* Crosses the failure modes of ANSWER off the list of those that no case shows. */
static void note_seen(struct checked *checked, const json_t *job, const struct message *answer)
{
    const json_t *modes = message_score(answer).failure_modes;
    json_t *unseen =
        json_object_get(checked->names, json_string_value(json_object_get(job, "task_class")));
    for (size_t i = 0; i < json_array_size(modes); i++) {
        const char *code = json_string_value(json_object_get(json_array_get(modes, i), "code"));
        if (code)
            (void)json_object_del(unseen, code);
    }
}

/* Says why ONE has no verdict, unless the case before has none for the same reason. */
static void tell_error(struct checked *checked, const json_t *one, const char *place,
                       const struct message *answer)
{
    struct fault why;
    (void)fault_set(&why, "%s: %s", message_text(answer, "code"), message_text(answer, "message"));
    if (strcmp(why.text, checked->last_error.text) == 0) {
        checked->repeated++;
        return;
    }
    checked->last_error = why;
    complain("%s: %s: no verdict: %s", place, json_string_value(json_object_get(one, "id")),
             why.text);
}

static enum exit_status run_case(struct checked *checked, struct session *session,
                                 const json_t *one)
{
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    const char *place = json_string_value(json_object_get(one, "place"));
    json_t *job = json_object_get(one, "job");
    enum exit_status status = single_job(session, job, checked->root, place, &answer);
    if (status == STATUS_USAGE) {
        checked->bad++;
        return STATUS_OK;
    }
    if (status != STATUS_OK)
        return status;
    if (answer.type == MESSAGE_ERROR) {
        tell_error(checked, one, place, &answer);
        checked->without_verdict++;
        return STATUS_OK;
    }
    checked->graded++;
    note_seen(checked, job, &answer);
    struct rubric_failure *last = &checked->last_failure;
    if (!rubric_verdict_is_good(one, &answer, last, checked->verbose))
        checked->unexpected++;
    else
        checked->as_expected += json_object_get(one, "expected") != NULL;
    return STATUS_OK;
}

static enum exit_status run_cases(struct checked *checked, const struct globals *globals)
{
    struct globals own = *globals;
    _cleanup_session_ struct session session = SESSION_NULL;
    own.embedded = own.embedded || !own.socket;
    int connected = connect_session(&own, CONNECT_ONLY, &session);
    if (connected < 0)
        return connect_status(&own, connected);
    enum exit_status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < json_array_size(checked->cases); i++)
        status = run_case(checked, &session, json_array_get(checked->cases, i));
    return status;
}

/* --- the command -------------------------------------------------------------------------- */

/* Names the failure modes that no case shows. Most rubrics have some: without --verbose, only
 * counts them, and only where all else is well. */
static void tell_unseen(const struct checked *checked)
{
    const char *name, *code;
    json_t *unseen, *value;
    json_object_foreach(checked->names, name, unseen)
    {
        size_t n = json_object_size(unseen);
        if (!checked->verbose && n > 0 && checked->unexpected == 0)
            complain("%s: no case shows %zu of its failure modes (--verbose names them)", name, n);
        if (!checked->verbose)
            continue;
        json_object_foreach(unseen, code, value)
            complain("%s: no case shows the failure mode %s", name, code);
    }
}

static void tell(const struct checked *checked)
{
    uint64_t n = checked->graded, rest = n - checked->as_expected - checked->unexpected;
    (void)printf("%" PRIu64 " case%s graded: %" PRIu64 " as expected, %" PRIu64 " not", n,
                 text_plural(n), checked->as_expected, checked->unexpected);
    if (rest > 0)
        (void)printf(", %" PRIu64 " without an expected verdict", rest);
    if (checked->without_verdict > 0)
        (void)printf("; %" PRIu64 " ended in an error", checked->without_verdict);
    if (checked->bad > 0)
        (void)printf("; %" PRIu64 " mistake%s in files", checked->bad, text_plural(checked->bad));
    (void)printf("\n");
}

static enum exit_status run_check_rubric(const struct globals *globals, const void *options_,
                                         const struct text_list *arguments)
{
    const struct check_options *options = options_;
    _cleanup_(checked_deinit) struct checked checked = {.verbose = options->verbose};
    struct fault fault = FAULT_NULL;
    int r = load(&checked, arguments->items[0], &fault);
    if (r < 0) {
        if (fault.text[0] || r == -ENOMEM)
            complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return STATUS_USAGE;
    }
    enum exit_status status = run_cases(&checked, globals);
    if (status != STATUS_OK)
        return status;
    if (checked.repeated > 0)
        complain("%" PRIu64 " further case%s no verdict for the reason named before",
                 checked.repeated, checked.repeated == 1 ? " has" : "s have");
    uint64_t alike = checked.last_failure.repeated;
    if (alike > 0 && !checked.verbose)
        complain("the rubric failed for %" PRIu64 " further case%s as it did for one above "
                 "(--verbose names %s)",
                 alike, text_plural(alike), alike == 1 ? "it" : "them");
    if (checked.without_verdict == 0)
        tell_unseen(&checked);
    tell(&checked);
    const struct ending ending = {
        .bad_input = checked.bad > 0,
        .errors = checked.without_verdict > 0,
        .failed = checked.unexpected > 0,
    };
    return ending_status(&ending, globals->no_fail);
}

static const struct option_spec check_specs[] = {
    {
        .letter = 'v',
        .name = "verbose",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct check_options, verbose),
        .help = "show whole tracebacks, each case that fails like another, and the failure modes "
                "that no case shows",
    },
};

const struct command command_check_rubric = {
    .name = "check-rubric",
    .arguments = "DIR",
    .argument_value = VALUE_DIRECTORY,
    .arguments_min = 1,
    .arguments_max = 1,
    .brief = "run the cases of a rubric and say what is wrong with it",
    .description =
        "DIR is the folder of a task class, which has a rubric.py, or a bench: a folder of\n"
        "such folders. Checks task_class.json, and runs the cases of DIR/cases.jsonl (of a\n"
        "task class without one, its cases in the file of the bench; of a bench, those of\n"
        "its own file and of each */cases.jsonl). Each line is a job, as for rubricctl\n"
        "batch. A verdict has to be as the expected.jsonl beside the cases says:\n"
        "\n"
        "  {\"id\": \"a1\", \"passed\": false, \"score\": 0.5, \"failure_modes\": [\"a.wrong\"]}\n"
        "\n"
        "score and failure_modes may be missing, and are then not compared.\n"
        "\n"
        "Names each problem with its file and line: a rubric that crashes, with its\n"
        "traceback; one that prints something else than a score; one that uses a breakdown\n"
        "key or a failure mode that task_class.json does not list; and one whose verdict is\n"
        "not the expected one. A task class without a case, or of which expected.jsonl\n"
        "names no case, is a mistake, too: nothing of it is checked. Where it names some,\n"
        "the last line counts the others. Also counts the failure modes that no case\n"
        "shows; they are no problems.\n"
        "\n"
        "rubricd-rubric(7) says what a rubric reads and prints, and which failures rubricd\n"
        "reports for it.\n"
        "\n"
        "Starts a private daemon unless --socket names another one.\n",
    .examples = "  rubricctl new-rubric bench/my-class\n"
                "  rubricctl check-rubric bench/my-class\n"
                "  rubricctl check-rubric bench\n",
    .exits =
        "  0    no verdict is other than expected\n"
        "  1    a rubric crashed, printed no score, or gave another verdict (with --no-fail: 0)\n"
        "  2    wrong usage, mistakes in task_class.json, cases.jsonl or expected.jsonl, or a\n"
        "       task class of which nothing is checked\n"
        "  3    no daemon, or the connection was lost\n"
        "  4    a case ended in an error instead of a verdict\n"
        "  130  interrupted\n"
        "  If several apply: 130, 3, 2, 4, 1.\n",
    .options = check_specs,
    .n_options = ARRAY_SIZE(check_specs),
    .options_size = sizeof(struct check_options),
    .run = run_check_rubric,
};
