/* SPDX-License-Identifier: MIT */
#include "client/terminal/statusview.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char full[] =
    "{'type':'status','version':'0.1.0','protocol':1,'pid':812,'uptime_ms':7984000,"
    "'state':'draining','slots':[{'slot':0,'state':'busy','jail_pid':77,'job':"
    "{'job_no':1201,'id':'a-long-identifier\\u001b[31m','kind':'rubric','label':"
    "'sql-answer','client':3,'uid':1000,'running_ms':299000,'remaining_ms':61000}},"
    "{'slot':1,'state':'idle','jail_pid':78,'job':null},{'slot':2,'state':'broken',"
    "'jail_pid':null,'trouble':'it is "
    "full','job':null},{'slot':3,'state':'idle'},{'slot':4,'state':'idle'},"
    "{'slot':5,'state':'starting'},{'slot':6,'state':'idle'}],"
    "'queue':{'jobs':3,'jobs_max':3,'bytes':12300,"
    "'bytes_max':67108864},'sessions':{'open':1,'max':7,'opened':5},'clients':[{'client':3,'uid':"
    "1000,'gid':1000,'pid':4242,"
    "'queued':3,'running':1,'unsent_bytes':123456,'paused':true}],'clients_total':140,"
    "'counters':{'submitted':1203,'results':1180,'passed':1100,'failed':80,'errors':"
    "{'draining':12,'internal':0,'cancelled':8}},"
    "'kinds':{'rubric':{'submitted':1203,'recent':[{'seconds':60,'span_ms':60000,"
    "'passed':118,'failed':14,'errors':0,'per_second':2.0585,'wall_clock_ms':{'p50':21.5,"
    "'p90':388.9,'p99':172032},'queue_ms':{'p50':0.0,'p90':0.046,'p99':9.7}},"
    "{'seconds':300,'passed':590,'failed':70,'errors':0,'per_second':12.17,"
    "'wall_clock_ms':null,'queue_ms':null},{'seconds':900,'passed':1740000,'failed':212,"
    "'errors':1,'per_second':2162.1,'wall_clock_ms':null,'queue_ms':null}]},"
    "'sandbox':{'submitted':0,'recent':[{'seconds':60}]}},"
    "'last_failures':[{'job_no':1190,'id':"
    "'q7','kind':'rubric','label':'exact-match','what':'rubric.timeout',"
    "'ago_ms':130000},{'job_no':1188,'id':'q6','kind':'rubric','label':'exact-match','what':"
    "'sandbox_failed: the jail was lost while the job ran; it has been replaced','ago_ms':350}],"
    "'isolation':{'class':'subprocess','layers':['env','tempdir',"
    "'rlimits','no_new_privs','subreaper','process_group','landlock','and_one_more'],'digest':"
    "'0123',"
    "'missing':[{'layer':'network','reason':'user namespaces are refused'}]},'memory':"
    "{'rss_bytes':12900000,'max_rss_bytes':15728640},'log':{'format':'plain','dropped':5}}";

static const char page[] =
    "rubricd 0.1.0: draining, up 2 h 13 min, pid 812, 12.3 MiB\n"
    "! rubricd is draining: it takes no new jobs and exits after the last one\n"
    "! 1 of 7 slots broken: being replaced (journalctl -u rubricd -p warning)\n"
    "! a slot cannot start its jail: it is full\n"
    "! the queue is full: clients that submit more wait\n"
    "! 5 log entries were dropped: the log's reader is too slow\n"
    "slots    1 of 7 busy, 1 starting, 1 broken\n"
    "queue    3 of 3 jobs, 12.0 KiB of 64.0 MiB\n"
    "sessions 1 of 7 open\n"
    "clients  140 connected, 1 paused\n"
    "jobs     1203 submitted: 1100 passed, 80 failed, 20 errors (12 draining, 8\n"
    "         cancelled)\n"
    "\n"
    "kind       last  jobs/s  passed  failed  errors     p50     p90     p99  queued\n"
    "rubric       1m    2.06     118      14       0    22ms   389ms   2m52s  0.05ms\n"
    "             5m    12.2     590      70       0       -       -       -       -\n"
    "            15m    2162    1.7M     212       1       -       -       -       -\n"
    "\n"
    "slot     for  until     job      kind       what             id\n"
    "   0   4m59s  03:00:06  1201     rubric     sql-answer       a-long-identifie...\n"
    "broken   2\n"
    "starting 5\n"
    "idle     1, 3-4, 6\n"
    "\n"
    "   ago  job     what            id                why it failed\n"
    " 2m10s  1190    exact-match     q7                rubric.timeout\n"
    " 350ms  1188    exact-match     q6\n"
    "        sandbox_failed: the jail was lost while the job ran; it has been\n"
    "        replaced\n"
    "\n"
    "client     uid      pid  queued  running     unread\n"
    "     3    1000     4242       3        1  120.6 KiB  paused\n"
    "        and 139 more (see --json)\n"
    "\n"
    "layers   env, tempdir, rlimits, no_new_privs, subreaper, process_group,\n"
    "         landlock, and_one_more\n"
    "missing  network: user namespaces are refused\n"
    "digest   0123\n";

/* Nothing needs attention, and nothing runs. */
static const char quiet[] =
    "{'version':'0.1.0','pid':1,'uptime_ms':4,'state':'running','slots':[{'slot':0,'state':'idle'},"
    "{'slot':1,'state':'idle'}],'queue':{'jobs':0,'jobs_max':9,'bytes':0,'bytes_max':1024},"
    "'clients':[],'clients_total':0,'counters':{'submitted':0,'passed':0,'failed':0,'errors':{}},"
    "'kinds':{'rubric':{'submitted':0,'recent':[{'seconds':60}]}},'last_failures':[],"
    "'isolation':{'layers':[],'digest':'0123','missing':[]},'memory':{'rss_bytes':1024},"
    "'log':{'format':'plain','dropped':0}}";

static const char quiet_page[] = "rubricd 0.1.0: running, up 4 ms, pid 1, 1.0 KiB\n"
                                 "slots    0 of 2 busy\n"
                                 "queue    0 of 9 jobs, 0 B of 1.0 KiB\n"
                                 "clients  0 connected\n"
                                 "jobs     0 submitted: 0 passed, 0 failed, 0 errors\n"
                                 "\n"
                                 "idle     0-1\n"
                                 "\n"
                                 "layers   nothing\n"
                                 "digest   0123\n";

static json_t *parse(const char *text)
{
    _cleanup_free_ char *json = strdup(text);
    assert_non_null(json);
    for (char *p = json; (p = strchr(p, '\''));)
        *p = '"';
    return json_loads(json, 0, NULL);
}

static char *render_in(const char *status, size_t columns, size_t rows, bool colour)
{
    /* Just before three o'clock: the page shows the time of day when a job times out. */
    const struct tm clock = {
        .tm_year = 126, .tm_mon = 10, .tm_mday = 21, .tm_hour = 2, .tm_min = 59, .tm_sec = 5};
    const struct statusview view = {
        .columns = columns, .rows = rows, .clock = &clock, .colour = colour};
    _cleanup_json_ json_t *object = parse(status);
    assert_non_null(object);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    statusview_put(out, object, &view);
    (void)fclose(out);
    return text;
}

static char *render(const char *status, bool colour)
{
    return render_in(status, 80, 0, colour);
}

static void test_quiet(void **state)
{
    _cleanup_free_ char *text = render(quiet, false);
    (void)state;
    assert_string_equal(text, quiet_page);
}

/* Characters of the longest line of TEXT, which is ASCII. */
static size_t widest_line(const char *text)
{
    size_t widest = 0;
    for (; *text; text += strcspn(text, "\n") + 1) {
        assert_true(strcspn(text, "\n") == 0 || text[strcspn(text, "\n") - 1] != ' ');
        widest = MAX(widest, strcspn(text, "\n"));
    }
    return widest;
}

static void test_widths(void **state)
{
    (void)state;
    for (size_t columns = 40; columns <= 200; columns++) {
        _cleanup_free_ char *text = render_in(full, columns, 0, false);
        assert_true(widest_line(text) <= columns);
        assert_non_null(strstr(text, "sql-answer"));
        assert_non_null(strstr(text, "a-long-"));
        assert_non_null(strstr(text, "4m59s"));
        assert_non_null(strstr(text, "2.06"));
    }
}

static void test_narrow(void **state)
{
    _cleanup_free_ char *text = render_in(full, 40, 0, false);
    (void)state;
    assert_non_null(strstr(text, "kind       last  jobs/s     p50     p99\n"
                                 "rubric       1m    2.06    22ms   2m52s\n"));
    assert_non_null(strstr(text, "   for  what           id\n"
                                 " 4m59s  sql-answer     a-long-identif...\n"));
}

/* With enough room the page shows how long a job may run and until when. */
static void test_wide(void **state)
{
    _cleanup_free_ char *text = render_in(full, 100, 0, false);
    (void)state;
    assert_non_null(
        strstr(text, "   0   4m59s   1m01s  03:00:06  1201     rubric     sql-answer  "));
    assert_non_null(strstr(text, "a-long-identifier\\x1b[31m\n"));
}

/* A page for a terminal is cut to its rows, and each failure stays in one line. */
static void test_short(void **state)
{
    char many[16384] = "{'slots':[";
    size_t used = strlen(many);
    for (int i = 0; i < 50; i++)
        used += (size_t)snprintf(many + used, sizeof(many) - used,
                                 "%s{'slot':%d,'state':'busy','job':{'job_no':%d,'id':'x','kind':"
                                 "'rubric','label':'y','running_ms':1,'remaining_ms':2}}",
                                 i > 0 ? "," : "", i, i);
    (void)snprintf(many + used, sizeof(many) - used, "]}");
    (void)state;
    _cleanup_free_ char *text = render_in(many, 80, 23, false);
    assert_non_null(strstr(text, "\n   4   1.0ms"));
    assert_null(strstr(text, "\n   5   1.0ms"));
    assert_non_null(strstr(text, "      and 45 more busy\n"));
    _cleanup_free_ char *failed = render_in(full, 80, 23, false);
    assert_non_null(strstr(failed, "q6                sandbox_failed: the jail wa...\n"));
    _cleanup_free_ char *all = render_in(many, 80, 0, false);
    assert_non_null(strstr(all, "\n  49   1.0ms"));
}

/* A short page shows less of each of several kinds. */
static void test_short_of_kinds(void **state)
{
#define RECENT                                                                                  \
    "{'submitted':9,'recent':[{'seconds':60,'passed':1},{'seconds':300,'passed':2},{'seconds':" \
    "900,'passed':3}]}"
    static const char two[] = "{'kinds':{'rubric':" RECENT ",'sandbox':" RECENT
                              ",'code_exec':{'submitted':9,'recent':[{'seconds':900}]}}}";
    static const char three[] =
        "{'kinds':{'rubric':" RECENT ",'sandbox':" RECENT ",'code_exec':" RECENT "}}";
    _cleanup_free_ char *of_two = render_in(two, 80, 23, false);
    _cleanup_free_ char *of_three = render_in(three, 80, 23, false);
    _cleanup_free_ char *high = render_in(three, 80, 50, false);
    (void)state;
    assert_non_null(strstr(of_two, "\nrubric       1m "));
    assert_non_null(strstr(of_two, "\n            15m "));
    assert_null(strstr(of_two, " 5m "));
    assert_null(strstr(of_two, "code_exec"));
    assert_non_null(strstr(of_three, "\ncode_exec    1m "));
    assert_null(strstr(of_three, "15m"));
    assert_non_null(strstr(high, " 5m "));
}

static void test_full(void **state)
{
    _cleanup_free_ char *text = render(full, false);
    (void)state;
    assert_string_equal(text, page);
}

/* Colour adds only sequences, each of which ends, and leaves the text as it is. */
static void test_colour(void **state)
{
    _cleanup_free_ char *text = render(full, true);
    char *to = text;
    int on = 0;
    (void)state;
    for (const char *from = text; *from;) {
        if (strncmp(from, "\033[", 2) == 0) {
            on += strncmp(from, "\033[0m", 4) == 0 ? -1 : 1;
            from = strchr(from, 'm') + 1;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    assert_int_equal(on, 0);
    assert_string_equal(text, page);
}

static void test_languages(void **state)
{
    static const char status[] =
        "{'languages':[{'name':'c','available':true,'version':'gcc 12\\u001b[31m of a length that "
        "is "
        "cut'},{'name':'d','available':true},{'name':'go','available':false,'why_not':'no go'},"
        "{'name':'r','available':false}]}";
    static const char expected[] = "\n"
                                   "language      version\n"
                                   "c             gcc 12\\x1b[31m of a lengt...\n"
                                   "d             not asked for its version...\n"
                                   "not here      go, r\n";
    (void)state;
    _cleanup_free_ char *text = render_in(status, 42, 0, false);
    const char *found = strstr(text, "\nlanguage");
    assert_non_null(found);
    assert_memory_equal(found, expected, strlen(expected));
    /* A page that has to fit a terminal leaves them out. */
    _cleanup_free_ char *fitted = render_in(status, 42, 40, false);
    assert_null(strstr(fitted, "language"));
}

static void test_wrong_types(void **state)
{
    static const char *const odd[] = {
        "{}",
        "{'version':3,'slots':{},'queue':[],'clients':'x','counters':null,"
        "'last_failures':7,'isolation':[],'memory':'','languages':3}",
        "{'slots':[null,3,{'job':{}},{'state':[]}],'clients':[null,{}],'clients_total':-"
        "5,"
        "'last_failures':[null,{}],'languages':[null,3,{},{'available':true}],"
        "'isolation':{'layers':[3,null],'missing':[null,{}]},"
        "'counters':{'errors':{'x':'y'}},'uptime_ms':-1,'memory':{'rss_bytes':-7}}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        _cleanup_free_ char *text = render(odd[i], false);
        assert_memory_equal(text, "rubricd ?: ?, up 0 ms, pid 0, 0 B\n", 34);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),           cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_widths),         cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_wide),           cmocka_unit_test(test_short),
        cmocka_unit_test(test_short_of_kinds), cmocka_unit_test(test_colour),
        cmocka_unit_test(test_wrong_types),    cmocka_unit_test(test_languages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
