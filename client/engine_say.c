/* SPDX-License-Identifier: MIT */
#include "engine_parts.h"

#include <inttypes.h>

#define IDS_NAMED 5

/* The first few ids in flight, to be freed; NULL when memory runs out. */
char *engine_name_pending(const struct engine *engine)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    pending_put(out, &engine->pending, IDS_NAMED);
    (void)fclose(out);
    return text;
}

void engine_show_progress(struct engine *engine, int64_t now)
{
    const struct summary *summary = &engine->summary;
    int64_t ms = MAX(now - engine->started_ms, 1);
    char wall[TEXT_QUANTITY_MAX];
    progress_show(&engine->progress, now,
                  "%" PRIu64 " done: %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64
                  " errors; %zu in flight; %.0f jobs/s; %s",
                  summary_answered(summary), summary->passed, summary->failed, summary->errors,
                  pending_count(&engine->pending),
                  (double)summary_answered(summary) * 1000 / (double)ms, text_duration(ms, wall));
}

/* Each notice comes after twice the silence of the last. */
void engine_notice_stall(struct engine *engine, int64_t now)
{
    size_t n = pending_count(&engine->pending);
    if (n == 0 || engine->phase > PHASE_CANCELLING ||
        now - engine->progressed_ms < engine->stall_ms)
        return;
    char silence[TEXT_QUANTITY_MAX];
    char *names = engine_name_pending(engine);
    engine_complain(engine, "nothing has finished for %s; still waiting for %zu job%s: %s",
                    text_duration(now - engine->progressed_ms, silence), n, text_plural(n),
                    names ? names : "");
    free(names);
    engine->stall_ms *= 2;
}
