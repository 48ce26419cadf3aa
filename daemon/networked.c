/* SPDX-License-Identifier: MIT */
#include "networked.h"

#include "proto/json.h"

#include <sha2.h>
#include <string.h>

#define NETWORK "network"

/* LAYERS without the network's; *ret_found tells whether it was among them. */
static json_t *other_layers(const json_t *layers, bool *ret_found)
{
    json_t *others = json_array();
    *ret_found = false;
    for (size_t i = 0; i < json_array_size(layers); i++) {
        json_t *layer = json_array_get(layers, i);
        if (strcmp(json_string_value(layer), NETWORK) == 0)
            *ret_found = true;
        else if (json_array_append(others, layer) < 0)
            break;
    }
    return others;
}

json_t *networked_summary(const json_t *summary)
{
    bool found;
    char digest[SHA256_DIGEST_STRING_LENGTH], text[SHA256_DIGEST_STRING_LENGTH + 16];
    _cleanup_json_ json_t *layers = other_layers(json_object_get(summary, "layers"), &found);
    if (!found)
        return json_incref((json_t *)(uintptr_t)summary);
    (void)snprintf(text, sizeof(text), "%.64s+" NETWORK,
                   json_string_value(json_object_get(summary, "digest")));
    if (!SHA256Data((const uint8_t *)text, strlen(text), digest))
        return NULL;
    return json_pack("{s:O,s:O,s:s}", "class", json_object_get(summary, "class"), "layers", layers,
                     "digest", digest);
}
