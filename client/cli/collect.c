/* SPDX-License-Identifier: MIT */
#include "collect.h"

#include <errno.h>

int collect_check(const struct collect_options *options, bool json, struct fault *fault)
{
    if (options->names.n > 0 && !options->to && !json)
        return fault_set(fault, "--collect: say with --collect-to where the files go, or print "
                                "them with --json");
    if (options->to && options->names.n == 0)
        return fault_set(fault, "--collect-to: goes only with --collect");
    return 0;
}

int collect_put(json_t *job, const struct collect_options *options, struct fault *fault)
{
    if (options->names.n == 0)
        return 0;
    json_t *array = json_array();
    if (json_object_set_new(job, "collect", array) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < options->names.n; i++) {
        json_t *name = json_string(options->names.items[i]);
        if (!name)
            return fault_set(fault, "--collect: \"%s\" is not UTF-8", options->names.items[i]);
        if (json_array_append_new(array, name) < 0)
            return -ENOMEM;
    }
    return 0;
}
