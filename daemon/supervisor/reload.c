/* SPDX-License-Identifier: MIT */
#include "reload.h"
#include "notify.h"

#include "proto/shortage.h"

#include <inttypes.h>
#include <string.h>

/* Mistakes of a configuration that are named one by one; the rest is counted. */
#define PROBLEMS_TOLD 20

/* --- what is wrong ------------------------------------------------------------------------- */

static int refuse(struct reload *done, enum error_code code, const struct fault *fault)
{
    done->code = code;
    done->problem = strdup(fault->text);
    return -EINVAL;
}

/* Prints one line for each mistake, as --check-config does. */
static int refuse_problems(struct reload *done, const struct config_problems *problems)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    for (size_t i = 0; stream && i < MIN(problems->count, (size_t)PROBLEMS_TOLD); i++)
        config_print_problem(stream, &problems->item[i]);
    if (stream && problems->count > PROBLEMS_TOLD)
        (void)fprintf(stream, "and %zu more\n", problems->count - PROBLEMS_TOLD);
    if (stream && fclose(stream) == 0 && length > 0)
        text[length - 1] = '\0'; /* the newline at the end */
    done->code = ERROR_BAD_REQUEST;
    done->problem = text;
    return -EINVAL;
}

static void log_refusal(struct supervisor *supervisor, const struct reload *done)
{
    const char *line = done->problem ? done->problem : "out of memory";
    while (*line) {
        int length = (int)strcspn(line, "\n");
        log_event(&supervisor->log, LOG_WARNING, LOG_MESSAGE_NOT_RELOADED,
                  "not reloaded, nothing has changed: %.*s", length, line);
        line += length + (line[length] == '\n');
    }
}

/* --- the steps ----------------------------------------------------------------------------- */

static int read_configuration(const struct supervisor *supervisor, struct config *ret,
                              struct reload *done)
{
    const struct config_source *source = supervisor->source;
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    struct fault fault = {.text = "out of memory"};
    int r = config_init(ret);
    if (r == 0)
        r = config_load(ret, source->path, source->must_exist, source->settings,
                        source->setting_count, &problems);
    if (r == -EINVAL || (is_shortage(-r) && problems.count > 0)) {
        (void)refuse_problems(done, &problems);
        if (r != -EINVAL)
            done->code = ERROR_INTERNAL;
        return r;
    }
    if (r == 0)
        r = config_change_find(&supervisor->settings->config, ret, &done->change);
    return r < 0 ? refuse(done, ERROR_INTERNAL, &fault) : 0;
}

/* Adds or retires slots, which get jails of the new confinement. Restores both on failure. */
static int change_pool(struct supervisor *supervisor, const struct settings *next,
                       struct reload *done)
{
    struct fault fault = FAULT_NULL;
    pool_set_confinement(&supervisor->pool, next->confinement);
    int r = pool_resize(&supervisor->pool, next->slots);
    if (r == 0)
        return 0;
    pool_set_confinement(&supervisor->pool, supervisor->settings->confinement);
    fault_set(&fault, "[daemon] slots: starting the new ones: %s", strerror(-r));
    return refuse(done, ERROR_INTERNAL, &fault);
}

static bool changes_any(const struct config_change *change, const char *const *keys)
{
    for (; *keys; keys++)
        if (string_list_contains(&change->live, *keys))
            return true;
    return false;
}

/* Whether existing jails suit the changed configuration. */
static bool same_jails(const struct supervisor *supervisor, const struct config_change *change)
{
    static const char *const of_all[] = {"isolation.without",
                                         "isolation.readable",
                                         "isolation.idmap_socket",
                                         "languages.directory",
                                         "languages.enabled",
                                         "warm.use",
                                         NULL};
    static const char *const of_warm[] = {"isolation.env_allow", "rubric.interpreter",
                                          "warm.modules", NULL};
    bool may_be_warm =
        supervisor->warm_program >= 0 && supervisor->settings->config.warm != CONFIG_WARM_NO;
    return !changes_any(change, of_all) && !(may_be_warm && changes_any(change, of_warm));
}

static int apply(struct supervisor *supervisor, struct config *take_config, struct reload *done)
{
    const struct settings *now = supervisor->settings;
    struct settings *next = NULL;
    struct fault fault = FAULT_NULL;
    struct settings_host host = state_host(supervisor);
    int r = settings_new(take_config, &host, now->generation + 1,
                         same_jails(supervisor, &done->change) ? now->confinement : NULL, &next,
                         &fault);
    if (r < 0)
        return refuse(done, r == -ENOMEM ? ERROR_INTERNAL : ERROR_BAD_REQUEST, &fault);
    if (state_attach_languages(supervisor, next) < 0)
        r = refuse(done, ERROR_INTERNAL, &(struct fault){.text = "out of memory"});
    else
        r = change_pool(supervisor, next, done);
    if (r < 0) {
        settings_unref(next);
        return r;
    }
    state_adopt(supervisor, next);
    return 0;
}

static int try_reload(struct supervisor *supervisor, struct reload *done)
{
    struct fault fault = FAULT_NULL;
    _cleanup_config_ struct config config = CONFIG_NULL;
    if (!supervisor->source) {
        fault_set(&fault, "a private daemon keeps the configuration that it was started with");
        return refuse(done, ERROR_BAD_REQUEST, &fault);
    }
    if (state_refuses_jobs(supervisor)) {
        fault_set(&fault, "the daemon stops");
        return refuse(done, ERROR_DRAINING, &fault);
    }
    int r = read_configuration(supervisor, &config, done);
    return r < 0 ? r : apply(supervisor, &config, done);
}

/* --- the outcome --------------------------------------------------------------------------- */

/* Writes " a b c" to TEXT, cut where it does not fit. */
static const char *join(const struct string_list *list, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < list->count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, " %s", list->item[i]);
    return text;
}

static void log_success(struct supervisor *supervisor, const struct reload *done)
{
    char text[2048];
    const struct config_change *change = &done->change;
    struct record record;
    record_init(&record, LOG_INFO, LOG_MESSAGE_RELOADED);
    record_add_text(&record, RECORD_ISOLATION_DIGEST, supervisor->settings->isolation.digest);
    record_say(&record,
               "reloaded: generation %" PRIu64 ", %u slots, isolation digest %s; changed:%s",
               supervisor->settings->generation, supervisor->settings->slots,
               supervisor->settings->isolation.digest,
               change->live.count > 0 ? join(&change->live, text, sizeof(text)) : " nothing");
    log_record(&supervisor->log, &record);
    if (change->fixed.count > 0)
        log_write(&supervisor->log, LOG_WARNING, "these need a restart:%s",
                  join(&change->fixed, text, sizeof(text)));
}

void reload_configuration(struct supervisor *supervisor, struct reload *ret)
{
    *ret = (struct reload)RELOAD_NULL;
    if (!state_refuses_jobs(supervisor))
        service_reloading(&supervisor->service);
    ret->is_done = try_reload(supervisor, ret) == 0;
    if (ret->is_done) {
        log_success(supervisor, ret);
    } else {
        log_refusal(supervisor, ret);
        stats_count_reload_refused(&supervisor->stats);
    }
    supervisor->reload_refused = !ret->is_done;
    if (!state_refuses_jobs(supervisor))
        service_ready(&supervisor->service);
    notify_tell(supervisor);
    event_active(supervisor->turn, 0, 0); /* the queue may have room, the pool idle slots */
}

int reload_reply(const struct supervisor *supervisor, const struct reload *done, struct bytes *ret)
{
    struct reply_reloaded reloaded = {
        .generation = supervisor->settings->generation,
        .changed = done->change.live.item,
        .changed_count = done->change.live.count,
        .restart = done->change.fixed.item,
        .restart_count = done->change.fixed.count,
        .digest = supervisor->settings->isolation.digest,
    };
    return reply_reloaded(&reloaded, ret);
}

void reload_on_signal(struct supervisor *supervisor)
{
    _cleanup_reload_ struct reload done = RELOAD_NULL;
    reload_configuration(supervisor, &done);
}

void reload_deinit(struct reload *done)
{
    free(done->problem);
    config_change_deinit(&done->change);
}
