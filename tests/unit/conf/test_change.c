/* SPDX-License-Identifier: MIT */
#include "conf/change.h"
#include "conf/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const fixed[] = {"daemon.user",         "daemon.socket",   "daemon.socket_mode",
                                    "daemon.socket_group", "daemon.work_dir", "daemon.log_format",
                                    "metrics.listen"};

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
        if (strcmp(fixed[i], name) == 0)
            return true;
    return false;
}

/* Gives KEY another value than the default; which does not matter here. */
static void alter(const struct config_key *key, struct config *config)
{
    char *field = (char *)config + key->offset;
    char **text = (char **)(void *)field;
    switch (key->type->kind) {
    case CONFIG_NUMBER:
        field[0] ^= 1;
        break;
    case CONFIG_BOOLEAN:
        *(bool *)field = !*(bool *)field;
        break;
    case CONFIG_STRING:
        free(*text);
        *text = strdup("another");
        assert_non_null(*text);
        break;
    case CONFIG_LIST:
        assert_int_equal(string_list_add((struct string_list *)(void *)field, "another"), 0);
        break;
    }
}

static void test_nothing_differs(void **state)
{
    _cleanup_config_ struct config a = CONFIG_NULL, b = CONFIG_NULL;
    _cleanup_config_change_ struct config_change change = CONFIG_CHANGE_NULL;
    (void)state;
    assert_int_equal(config_init(&a), 0);
    assert_int_equal(config_init(&b), 0);
    assert_int_equal(config_change_find(&a, &b, &change), 0);
    assert_int_equal(change.live.count, 0);
    assert_int_equal(change.fixed.count, 0);
}

/* Settings that take a restart are set back; all others stay. */
static void test_each_key_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_key_count(); i++) {
        _cleanup_config_ struct config a = CONFIG_NULL, b = CONFIG_NULL;
        _cleanup_config_change_ struct config_change change = CONFIG_CHANGE_NULL;
        const struct config_key *key = config_key_at(i);
        char name[128];
        (void)snprintf(name, sizeof(name), "%s.%s", key->section, key->name);
        assert_int_equal(config_init(&a), 0);
        assert_int_equal(config_init(&b), 0);
        alter(key, &b);
        assert_false(config_key_equal(key, &a, &b));
        assert_int_equal(config_change_find(&a, &b, &change), 0);
        const struct string_list *told = is_fixed(name) ? &change.fixed : &change.live;
        assert_int_equal(change.live.count + change.fixed.count, 1);
        assert_int_equal(told->count, 1);
        assert_string_equal(told->item[0], name);
        assert_int_equal(config_key_equal(key, &a, &b), is_fixed(name));
    }
}

static void test_all_keys_in_their_order(void **state)
{
    _cleanup_config_ struct config a = CONFIG_NULL, b = CONFIG_NULL;
    _cleanup_config_change_ struct config_change change = CONFIG_CHANGE_NULL;
    size_t live = 0, restart = 0;
    (void)state;
    assert_int_equal(config_init(&a), 0);
    assert_int_equal(config_init(&b), 0);
    for (size_t i = 0; i < config_key_count(); i++)
        alter(config_key_at(i), &b);
    assert_int_equal(config_change_find(&a, &b, &change), 0);
    assert_int_equal(change.fixed.count, ARRAY_SIZE(fixed));
    assert_int_equal(change.live.count, config_key_count() - ARRAY_SIZE(fixed));
    for (size_t i = 0; i < config_key_count(); i++) {
        char name[128];
        const struct config_key *key = config_key_at(i);
        (void)snprintf(name, sizeof(name), "%s.%s", key->section, key->name);
        assert_string_equal(
            is_fixed(name) ? change.fixed.item[restart++] : change.live.item[live++], name);
    }
}

/* The same entries in another order are another list: of variables the order shows. */
static void test_lists(void **state)
{
    _cleanup_config_ struct config a = CONFIG_NULL, b = CONFIG_NULL;
    _cleanup_config_change_ struct config_change change = CONFIG_CHANGE_NULL;
    (void)state;
    assert_int_equal(config_init(&a), 0);
    assert_int_equal(config_init(&b), 0);
    assert_int_equal(string_list_add(&a.readable, "/a"), 0);
    assert_int_equal(string_list_add(&a.readable, "/b"), 0);
    assert_int_equal(string_list_add(&b.readable, "/b"), 0);
    assert_int_equal(string_list_add(&b.readable, "/a"), 0);
    assert_int_equal(string_list_add(&a.admin_groups, "x"), 0);
    assert_int_equal(string_list_add(&b.admin_groups, "x"), 0);
    assert_int_equal(config_change_find(&a, &b, &change), 0);
    assert_int_equal(change.live.count, 1);
    assert_string_equal(change.live.item[0], "isolation.readable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_differs),
        cmocka_unit_test(test_each_key_alone),
        cmocka_unit_test(test_all_keys_in_their_order),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
