/* SPDX-License-Identifier: MIT */
/* Keeps the job packets of the fuzz corpus up to date: they hold struct link_job as bytes, so a
 * member that is added to it, or a limit, would leave packets that the receiver refuses at once. To
 * write them anew:
 *
 *     RUBRICD_WRITE_CORPUS=1 meson test -C build daemon/jail/link_corpus
 */
#include "daemon/jail/link.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STANDARD ((1u << LINK_STANDARD_FDS) - 1)
#define EVERYTHING ((1u << LINK_JOB_FDS) - 1)
#define JOB_BYTE 1 /* a job, to tests/fuzz/fuzz_link.c */
#define STRINGS(literal) (literal), sizeof(literal) - 1
#define TRUE STRINGS("/bin/true\0")

struct packet {
    const char *name;
    const char *strings;
    size_t length;
    uint8_t descriptors;
    struct link_job job; /* without what all of them have */
};

static const struct packet packets[] = {
    {"job", TRUE, 3, {.argc = 1, .fd_mask = STANDARD}},
    {"job-all-lists",
     STRINGS("/bin/sh\0-c\0x\0A=b\0C=\0/bench\0/a\0/b\0/c\0d\0*.txt\0k\0mre\0"),
     3,
     {.argc = 3,
      .envc = 2,
      .has_bench = 1,
      .readable_count = 2,
      .candidate_argc = 2,
      .collect_count = 1,
      .class_count = 2,
      .class_bytes = 1 << 20,
      .fd_mask = STANDARD}},
    {"job-joined",
     STRINGS("/i\0A=b\0/p\0001\0C=d\0"),
     LINK_JOB_FDS,
     {.argc = 1,
      .envc = 1,
      .candidate_argc = 2,
      .candidate_envc = 1,
      .is_joined = 1,
      .candidate_any_address_space = 1,
      .candidate_any_stack = 1,
      .candidate_warm = 1,
      .fd_mask = EVERYTHING}},
    {"job-no-files-but-cgroup", TRUE, 4, {.argc = 1, .fd_mask = STANDARD | 1u << LINK_CGROUP}},
    {"job-no-nul", STRINGS("/bin/true"), 3, {.argc = 1, .fd_mask = STANDARD}},
    {"job-too-few-descriptors", TRUE, 2, {.argc = 1, .fd_mask = STANDARD}},
    {"job-too-many-descriptors", TRUE, 4, {.argc = 1, .fd_mask = STANDARD}},
    {"job-two-benches",
     STRINGS("/bin/true\0/a\0/b\0"),
     3,
     {.argc = 1, .has_bench = 2, .fd_mask = STANDARD}},
};

/* Makes the file of PACKET in OUT; returns its size. */
static size_t make(const struct packet *packet, uint8_t *out)
{
    struct link_job job = packet->job;
    job.job_no = 5;
    job.bench_device = 1;
    job.bench_inode = 2;
    job.collect_max = 1 << 20;
    job.warm = 1;
    job.strings_length = (uint32_t)packet->length;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        job.limits.of[limit] = job.own_limits.of[limit] = job.candidate_limits.of[limit] = 1000;
    out[0] = JOB_BYTE;
    out[1] = packet->descriptors;
    memcpy(out + 2, &job, sizeof(job));
    memcpy(out + 2 + sizeof(job), packet->strings, packet->length);
    return 2 + sizeof(job) + packet->length;
}

static FILE *open_file(const struct packet *packet, const char *mode)
{
    char path[4096], *end;
    (void)snprintf(path, sizeof(path), "%s", __FILE__);
    end = strrchr(path, '/');
    (void)snprintf(end, sizeof(path) - (size_t)(end - path), "/../../../fuzz/corpus/link/%s.bin",
                   packet->name);
    FILE *file = fopen(path, mode);
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    return file;
}

static void test_packets(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
        uint8_t made[2 + sizeof(struct link_job) + 256], found[sizeof(made) + 1];
        size_t n = make(&packets[i], made);
        if (getenv("RUBRICD_WRITE_CORPUS")) {
            FILE *file = open_file(&packets[i], "we");
            assert_int_equal(fwrite(made, 1, n, file), n);
            assert_int_equal(fclose(file), 0);
        }
        FILE *file = open_file(&packets[i], "re");
        size_t there = fread(found, 1, sizeof(found), file);
        assert_int_equal(fclose(file), 0);
        if (there != n || memcmp(found, made, n) != 0)
            fail_msg("%s.bin is not a packet of today's link.h; the head of %s says how to write "
                     "it anew",
                     packets[i].name, __FILE__);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
