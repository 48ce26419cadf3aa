/* SPDX-License-Identifier: MIT */
/* Fuzz target: the list of a rubric's files, as a worker of a fleet gets it from whoever may store
 * one.
 *
 * Checks of every list that is accepted that its names lead nowhere else, that it is within its
 * bounds, and that printing it gives the same text: so no two texts are the same list. */
#include "tests/fuzz/fuzz.h"

#include "rubricdir/manifest.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_manifest_ struct manifest manifest = MANIFEST_NULL;
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    uint64_t bytes = 0;
    int r = manifest_parse((const char *)data, size, &manifest, &fault);
    if (r < 0) {
        CHECK(r == -EINVAL && *fault.text && !manifest.files);
        return 0;
    }
    CHECK(manifest.n <= RUBRICDIR_FILES_MAX);
    for (size_t i = 0; i < manifest.n; i++) {
        const char *name = manifest.files[i].name;
        CHECK(*name && *name != '/' && strlen(name) <= RUBRICDIR_NAME_MAX);
        CHECK(!strstr(name, "//") && !strstr(name, "/../") && strncmp(name, "../", 3) != 0);
        bytes += manifest.files[i].size;
    }
    CHECK(bytes == manifest.bytes && bytes <= RUBRICDIR_BYTES_MAX);
    CHECK(manifest_print(manifest.files, manifest.n, &printed) == 0);
    CHECK(printed.length == size && memcmp(printed.data, data, size) == 0);
    return 0;
}
