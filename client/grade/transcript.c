/* SPDX-License-Identifier: MIT */
#include "transcript.h"

#include "proto/printer.h"
#include "proto/util.h"

#include <string.h>

static const json_t *transcript_of(const struct message *answer)
{
    return json_object_get(answer->object, "transcript");
}

bool transcript_is_due(const struct message *answer)
{
    return answer->type == MESSAGE_RESULT && message_score(answer).passed && transcript_of(answer);
}

bool transcript_is_replayable(const struct message *answer)
{
    return json_is_true(json_object_get(transcript_of(answer), "replayable"));
}

static void put(struct printer *printer, const char *name, const json_t *value)
{
    if (!value)
        return;
    printer_name(printer, name);
    printer_value(printer, value);
}

int transcript_line(const json_t *job, const json_t *sample, const struct message *answer,
                    struct bytes *ret)
{
    /* Only the reference counts of its members change. */
    _cleanup_json_ json_t *plain = json_copy((json_t *)(uintptr_t)job);
    struct printer printer = PRINTER_NULL;
    if (!plain)
        return -ENOMEM;
    (void)json_object_del(plain, "transcript");
    printer_open(&printer);
    put(&printer, "id", json_object_get(answer->object, "id"));
    put(&printer, "task_id", json_object_get(sample, "task_id"));
    put(&printer, "sample", json_object_get(sample, "sample"));
    put(&printer, "job", plain);
    put(&printer, "transcript", transcript_of(answer));
    put(&printer, "interpreter", json_object_get(answer->object, "interpreter"));
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int transcript_read(json_t *line, struct transcript *ret, struct fault *fault)
{
    json_t *id = json_object_get(line, "id"), *job = json_object_get(line, "job");
    const json_t *transcript = json_object_get(line, "transcript");
    json_t *data = json_object_get(transcript, "data");
    const json_t *reason = json_object_get(transcript, "reason");
    const json_t *replayable = json_object_get(transcript, "replayable");
    if (!json_is_string(id) || !json_is_object(job) || !json_is_boolean(replayable))
        return fault_set(fault, "not a line of transcripts: expected id, job and transcript");
    if (json_is_true(replayable) && !json_is_string(data))
        return fault_set(fault, "transcript.data: expected a string");
    if (json_is_true(replayable) && json_object_set(job, "replay", data) < 0)
        return -ENOMEM;
    *ret = (struct transcript){.id = id, .job = job};
    if (!json_is_true(replayable))
        ret->reason = json_is_string(reason) ? json_string_value(reason) : "no reason given";
    return 0;
}
