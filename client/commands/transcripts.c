/* SPDX-License-Identifier: MIT */
#include "transcripts.h"

#include "client/connection/session.h"
#include "client/grade/transcript.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>

int transcripts_open(struct transcripts *transcripts, const char *path, enum output_mode mode,
                     const char *const *inputs, size_t n)
{
    struct fault fault = FAULT_NULL;
    if (!path)
        return 0;
    int r = output_open(&transcripts->output, path, mode, inputs, n, &fault);
    if (r == 0 && !transcripts->output.ours)
        r = fault_set(&fault, "%s is not a regular file", path);
    if (r < 0)
        complain("--transcripts: %s", fault.text);
    return r;
}

static bool is_wanted(const struct transcripts *transcripts)
{
    return transcripts->output.buffer && !transcripts->failed;
}

static void fail(struct transcripts *transcripts, int error)
{
    transcripts->failed = true;
    complain("cannot write the transcripts: %s; the run goes on without them", strerror(error));
}

int transcripts_add(struct transcripts *transcripts, const json_t *job, const json_t *sample,
                    const struct message *answer)
{
    _cleanup_bytes_ struct bytes line = BYTES_NULL;
    if (!is_wanted(transcripts) || !transcript_is_due(answer))
        return 0;
    int r = transcript_line(job, sample, answer, &line);
    if (r == 0)
        r = output_line(&transcripts->output, line.data, line.length);
    if (r < 0)
        return r;
    if (transcript_is_replayable(answer))
        transcripts->replayable++;
    else
        transcripts->others++;
    r = output_flush(&transcripts->output, monotonic_ms());
    if (r < 0)
        fail(transcripts, -r);
    return 0;
}

bool transcripts_finish(struct transcripts *transcripts, bool quiet)
{
    if (!is_wanted(transcripts))
        return !transcripts->failed;
    int r = output_sync(&transcripts->output, true, monotonic_ms());
    if (r < 0)
        fail(transcripts, -r);
    else if (!quiet)
        complain("%" PRIu64 " transcript%s written, and %" PRIu64
                 " pass%s named that cannot be replayed",
                 transcripts->replayable, text_plural(transcripts->replayable), transcripts->others,
                 transcripts->others == 1 ? "" : "es");
    return r >= 0;
}

void transcripts_deinit(struct transcripts *transcripts)
{
    if (transcripts->output.buffer)
        output_close(&transcripts->output);
}
