/* SPDX-License-Identifier: MIT */
#include "json_parse.h"
#include "utf8.h"
#include "util.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Most reals have few digits. Then they are a quotient or a product of two doubles without a
 * rounding error, which is what strtod() finds, too. */
#define EXACT_INTEGER_MAX (UINT64_C(1) << 53)
#define EXACT_POWER_MAX 22

#define ONES UINT64_C(0x0101010101010101)

struct parser {
    const char *text;
    size_t n, at;
    unsigned depth;
    struct json_places *places; /* may be NULL */
    char *scratch;              /* a string with its escapes decoded, a real with a NUL behind it */
    size_t scratch_room;
    struct json_wrong wrong;
};

static int parse_value(struct parser *parser, json_t **ret);

/* --- small things -------------------------------------------------------------------------- */

/* Refuses the text for what ends before AT. */
static int refuse(struct parser *parser, size_t at, const char *what)
{
    parser->wrong = (struct json_wrong){.at = MIN(at, parser->n), .what = what};
    return -EBADMSG;
}

/* Returns the next byte, 0 at the end: the text has no NUL. */
static char peek(const struct parser *parser)
{
    return parser->at < parser->n ? parser->text[parser->at] : '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char skip_space(struct parser *parser)
{
    while (parser->at < parser->n && is_space(parser->text[parser->at]))
        parser->at++;
    return peek(parser);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Makes room for N bytes and a NUL. */
static int reserve(struct parser *parser, size_t n)
{
    if (n < parser->scratch_room)
        return 0;
    size_t room = MAX(n + 1, MAX(parser->scratch_room * 2, (size_t)256));
    char *scratch = realloc(parser->scratch, room);
    if (!scratch)
        return -ENOMEM;
    parser->scratch = scratch;
    parser->scratch_room = room;
    return 0;
}

/* --- strings ------------------------------------------------------------------------------- */

/* Whether a quote or a backslash is among the 8 bytes of WORD. What subtracting 1 from each byte
 * carries into the next one starts at a byte that is one of them. */
static bool has_end(uint64_t word)
{
    uint64_t quote = word ^ (ONES * '"'), backslash = word ^ (ONES * '\\');
    return (((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash)) & (ONES << 7);
}

static uint64_t word_at(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    return word;
}

/* Whether one of the 8 bytes at TEXT is not plain: a quote, a backslash, a control character, or
 * beyond ASCII. */
static bool has_special(const char *text)
{
    uint64_t word = word_at(text);
    return has_end(word) || (((word - ONES * ' ') | word) & (ONES << 7)) != 0;
}

size_t json_string_end(const char *text, size_t n, size_t at)
{
    while (at < n && text[at] != '"') {
        if (text[at] == '\\')
            at += 2;
        else if (n - at >= 8 && !has_end(word_at(text + at)))
            at += 8;
        else
            at++;
    }
    return MIN(at, n);
}

static bool is_plain(char c)
{
    return (unsigned char)c >= ' ' && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

/* Moves beyond what stands for itself in a string: all but quotes, escapes and what is wrong. */
static void skip_run(struct parser *parser)
{
    const char *text = parser->text;
    size_t at = parser->at, n = parser->n;
    for (;;) {
        while (n - at >= 8 && !has_special(text + at))
            at += 8;
        while (at < n && is_plain(text[at]))
            at++;
        if (at == n || (unsigned char)text[at] < 0x80)
            break;
        int step = 0;
        while (at < n && (unsigned char)text[at] >= 0x80 &&
               (step = utf8_sequence(text + at, n - at)) > 0)
            at += (size_t)step;
        if (step <= 0)
            break;
    }
    parser->at = at;
}

/* Reads the four digits at AT. Returns their value, or -1. */
static int hex4(const struct parser *parser, size_t at)
{
    int value = 0;
    if (parser->n - at < 4)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        char c = parser->text[i];
        int digit = is_digit(c)              ? c - '0'
                    : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                    : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                             : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static size_t put_utf8(char *out, unsigned point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | point);
    return n;
}

/* Decodes \uXXXX, or two of them that make a pair, to OUT. */
static int take_unicode(struct parser *parser, char *out, size_t *length)
{
    const char *text = parser->text;
    size_t at = parser->at;
    int first = hex4(parser, at + 2), second;
    if (first < 0)
        return refuse(parser, at + 6, "invalid escape");
    unsigned point = (unsigned)first;
    at += 6;
    if (first >= 0xD800 && first <= 0xDFFF) {
        second = parser->n - at >= 6 && text[at] == '\\' && text[at + 1] == 'u'
                     ? hex4(parser, at + 2)
                     : -1;
        at += 6;
        if (first > 0xDBFF || second < 0xDC00 || second > 0xDFFF)
            return refuse(parser, at, "invalid Unicode");
        point = 0x10000u + (((unsigned)first & 0x3FF) << 10) + ((unsigned)second & 0x3FF);
    }
    *length += put_utf8(out + *length, point);
    parser->at = at;
    return 0;
}

/* Decodes the escape at parser->at to the end of the LENGTH bytes of scratch. */
static int take_escape(struct parser *parser, size_t *length)
{
    static const char bytes[256] = {
        ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
        ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
    };
    char c = parser->n - parser->at > 1 ? parser->text[parser->at + 1] : '\0';
    int r = reserve(parser, *length + 4);
    if (r < 0)
        return r;
    if (c == 'u' && parser->n - parser->at >= 6)
        return take_unicode(parser, parser->scratch, length);
    if (!bytes[(unsigned char)c])
        return refuse(parser, parser->at + 2, "invalid escape");
    parser->scratch[(*length)++] = bytes[(unsigned char)c];
    parser->at += 2;
    return 0;
}

static int refuse_byte(struct parser *parser)
{
    return parser->at >= parser->n      ? refuse(parser, parser->n, "premature end of input")
           : (peek(parser) & 0x80) != 0 ? refuse(parser, parser->at, "not UTF-8")
           : peek(parser) == '\n'       ? refuse(parser, parser->at, "unexpected newline")
                                        : refuse(parser, parser->at, "control character");
}

/* Reads the string whose opening quote is next. *ret is borrowed from the text or from scratch. */
static int parse_text(struct parser *parser, const char **ret, size_t *ret_length)
{
    size_t start = ++parser->at, length = 0;
    bool is_decoded = false;
    int r = 0;
    for (;;) {
        size_t from = parser->at;
        skip_run(parser);
        size_t run = parser->at - from;
        char c = peek(parser);
        if (c == '"' && !is_decoded) {
            *ret = parser->text + start;
            *ret_length = run;
            break;
        }
        is_decoded = true;
        r = run > 0 ? reserve(parser, length + run) : 0;
        if (r < 0)
            return r;
        if (run > 0)
            memcpy(parser->scratch + length, parser->text + from, run);
        length += run;
        if (c == '"') {
            *ret = parser->scratch;
            *ret_length = length;
            break;
        }
        r = c == '\\' ? take_escape(parser, &length) : refuse_byte(parser);
        if (r < 0)
            return r;
    }
    parser->at++;
    return 0;
}

static int parse_string(struct parser *parser, json_t **ret)
{
    const char *text;
    size_t length;
    int r = parse_text(parser, &text, &length);
    if (r < 0)
        return r;
    *ret = json_stringn_nocheck(text, length);
    return *ret ? 0 : -ENOMEM;
}

/* --- numbers ------------------------------------------------------------------------------- */

static void skip_digits(struct parser *parser)
{
    while (is_digit(peek(parser)))
        parser->at++;
}

/* Moves beyond a fraction and an exponent. */
static int skip_real(struct parser *parser)
{
    if (peek(parser) == '.') {
        parser->at++;
        if (!is_digit(peek(parser)))
            return refuse(parser, parser->at, "invalid token");
        skip_digits(parser);
    }
    if (peek(parser) == 'e' || peek(parser) == 'E') {
        parser->at++;
        if (peek(parser) == '+' || peek(parser) == '-')
            parser->at++;
        if (!is_digit(peek(parser)))
            return refuse(parser, parser->at, "invalid token");
        skip_digits(parser);
    }
    return 0;
}

/* Finds the value of a real of few digits, LENGTH bytes at TEXT. False: strtod() has to. */
static bool exact_real(const char *text, size_t length, double *ret)
{
    static const double powers[EXACT_POWER_MAX + 1] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };
    size_t i = *text == '-';
    uint64_t digits = 0;
    int power = 0, exponent = 0;
    bool is_fraction = false;
    if (length > 24)
        return false;
    for (; i < length && (is_digit(text[i]) || text[i] == '.'); i++) {
        if (text[i] == '.') {
            is_fraction = true;
            continue;
        }
        digits = digits * 10 + (unsigned)(text[i] - '0');
        power -= is_fraction;
        if (digits > EXACT_INTEGER_MAX)
            return false;
    }
    if (i < length) {
        bool is_negative = text[++i] == '-';
        for (i += text[i] == '-' || text[i] == '+'; i < length && exponent < 1000; i++)
            exponent = exponent * 10 + (text[i] - '0');
        power += is_negative ? -exponent : exponent;
    }
    if (power < -EXACT_POWER_MAX || power > EXACT_POWER_MAX)
        return false;
    double value = power < 0 ? (double)digits / powers[-power] : (double)digits * powers[power];
    *ret = *text == '-' ? -value : value;
    return true;
}

static int parse_real(struct parser *parser, size_t start, json_t **ret)
{
    double value;
    int r = skip_real(parser);
    size_t length = parser->at - start;
    if (r < 0)
        return r;
    if (!exact_real(parser->text + start, length, &value)) {
        r = reserve(parser, length);
        if (r < 0)
            return r;
        memcpy(parser->scratch, parser->text + start, length);
        parser->scratch[length] = '\0';
        value = strtod(parser->scratch, NULL); /* no program here sets a locale */
    }
    if (!isfinite(value))
        return refuse(parser, parser->at, "real number overflow");
    *ret = json_real(value);
    return *ret ? 0 : -ENOMEM;
}

static int parse_number(struct parser *parser, json_t **ret)
{
    size_t start = parser->at;
    bool is_negative = peek(parser) == '-', is_big = false;
    uint64_t value = 0;
    parser->at += is_negative;
    size_t first = parser->at;
    if (!is_digit(peek(parser)))
        return refuse(parser, parser->at, "invalid token");
    for (; is_digit(peek(parser)); parser->at++) {
        unsigned digit = (unsigned)(peek(parser) - '0');
        is_big |= value > (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (parser->text[first] == '0' && parser->at > first + 1)
        return refuse(parser, first + 1, "invalid token");
    char c = peek(parser);
    if (c == '.' || c == 'e' || c == 'E')
        return parse_real(parser, start, ret);
    if (is_big || value > (uint64_t)INT64_MAX + is_negative)
        return refuse(parser, parser->at,
                      is_negative ? "too big negative integer" : "too big integer");
    *ret = json_integer((json_int_t)(is_negative ? -value : value));
    return *ret ? 0 : -ENOMEM;
}

static int parse_word(struct parser *parser, json_t **ret)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t start = parser->at, n;
    while ((peek(parser) | 0x20) >= 'a' && (peek(parser) | 0x20) <= 'z')
        parser->at++;
    n = parser->at - start;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (n != strlen(words[i]) || memcmp(parser->text + start, words[i], n) != 0)
            continue;
        *ret = i == 0 ? json_null() : json_boolean(i == 1);
        return 0;
    }
    return refuse(parser, n > 0 ? parser->at : start + 1,
                  n > 0 ? "invalid token" : "unexpected token");
}

/* --- containers ---------------------------------------------------------------------------- */

/* Parses a value that is a member of an object, and notes its place. */
static int parse_member(struct parser *parser, json_t **ret) // NOLINT(misc-no-recursion)
{
    struct json_places *places = parser->places;
    (void)skip_space(parser);
    size_t start = parser->at;
    int r = parse_value(parser, ret);
    if (r == 0 && places && parser->depth <= 2 && places->count < JSON_PLACES_MAX)
        places->place[places->count++] = (struct json_place){*ret, start, parser->at};
    return r;
}

/* Reads a key and its value into OBJECT. */
static int take_member(struct parser *parser, json_t *object) // NOLINT(misc-no-recursion)
{
    const char *key;
    size_t length, size = json_object_size(object);
    _cleanup_free_ char *copy = NULL;
    _cleanup_json_ json_t *value = NULL;
    int r = parse_text(parser, &key, &length);
    if (r < 0)
        return r;
    size_t key_end = parser->at;
    if (memchr(key, '\0', length))
        return refuse(parser, key_end, "NUL byte in object key not supported");
    if (skip_space(parser) != ':')
        return refuse(parser, parser->at + 1, "':' expected");
    parser->at++;
    if (key == parser->scratch) { /* the value may need that */
        copy = malloc(length + 1);
        if (!copy)
            return -ENOMEM;
        key = memcpy(copy, key, length);
    }
    r = parse_member(parser, &value);
    if (r < 0)
        return r;
    if (json_object_setn_new_nocheck(object, key, length, TAKE_PTR(value)) < 0)
        return -ENOMEM;
    return json_object_size(object) > size ? 0 : refuse(parser, key_end, "duplicate object key");
}

static int take_members(struct parser *parser, json_t *object) // NOLINT(misc-no-recursion)
{
    parser->at++;
    if (skip_space(parser) == '}') {
        parser->at++;
        return 0;
    }
    for (;;) {
        if (skip_space(parser) != '"')
            return refuse(parser, parser->at + 1, "string or '}' expected");
        int r = take_member(parser, object);
        if (r < 0)
            return r;
        char next = skip_space(parser);
        if (next != ',' && next != '}')
            return refuse(parser, parser->at + 1, "'}' expected");
        parser->at++;
        if (next == '}')
            return 0;
    }
}

static int take_elements(struct parser *parser, json_t *array) // NOLINT(misc-no-recursion)
{
    parser->at++;
    if (skip_space(parser) == ']') {
        parser->at++;
        return 0;
    }
    for (;;) {
        json_t *value;
        (void)skip_space(parser);
        int r = parse_value(parser, &value);
        if (r < 0)
            return r;
        if (json_array_append_new(array, value) < 0)
            return -ENOMEM;
        char next = skip_space(parser);
        if (next != ',' && next != ']')
            return refuse(parser, parser->at + 1, "']' expected");
        parser->at++;
        if (next == ']')
            return 0;
    }
}

static int parse_container(struct parser *parser, json_t **ret) // NOLINT(misc-no-recursion)
{
    bool is_object = peek(parser) == '{';
    _cleanup_json_ json_t *value = is_object ? json_object() : json_array();
    if (!value)
        return -ENOMEM;
    assert(parser->depth < JSON_DEPTH_MAX);
    parser->depth++;
    int r = is_object ? take_members(parser, value) : take_elements(parser, value);
    parser->depth--;
    if (r == 0)
        *ret = TAKE_PTR(value);
    return r;
}

/* The recursion is bounded by the depth of the text. */
static int parse_value(struct parser *parser, json_t **ret) // NOLINT(misc-no-recursion)
{
    char c = peek(parser);
    if (c == '{' || c == '[')
        return parse_container(parser, ret);
    if (c == '"')
        return parse_string(parser, ret);
    if (c == '-' || is_digit(c))
        return parse_number(parser, ret);
    return parse_word(parser, ret);
}

int json_parse(const char *text, size_t n, json_t **ret, struct json_places *places,
               struct json_wrong *ret_wrong)
{
    struct parser parser = {.text = text, .n = n, .places = places};
    _cleanup_json_ json_t *value = NULL;
    if (places)
        *places = (struct json_places){.text = text};
    (void)skip_space(&parser);
    int r = parse_value(&parser, &value);
    if (r == 0 && (skip_space(&parser), parser.at < n))
        r = refuse(&parser, parser.at + 1, "end of file expected");
    free(parser.scratch);
    if (r == 0)
        *ret = TAKE_PTR(value);
    else if (r == -EBADMSG)
        *ret_wrong = parser.wrong;
    return r;
}

/* --- places -------------------------------------------------------------------------------- */

static const struct json_place *find_place(const struct json_places *places, const json_t *value)
{
    for (unsigned i = 0; places && i < places->count; i++)
        if (places->place[i].value == value)
            return &places->place[i];
    return NULL;
}

size_t json_place_length(const struct json_places *places, const json_t *value)
{
    const struct json_place *place = find_place(places, value);
    return place ? place->end - place->start : 0;
}

size_t json_place_copy(const struct json_places *places, const json_t *value, char *ret)
{
    const struct json_place *place = find_place(places, value);
    if (!place)
        return 0;
    struct parser parser = {.text = places->text, .n = place->end, .at = place->start};
    size_t length = 0;
    while (parser.at < parser.n) {
        size_t from = parser.at;
        if (peek(&parser) == '"') {
            parser.at = json_string_end(places->text, parser.n, from + 1) + 1;
        } else {
            while (parser.at < parser.n && !is_space(peek(&parser)) && peek(&parser) != '"')
                parser.at++;
        }
        memcpy(ret + length, places->text + from, parser.at - from);
        length += parser.at - from;
        (void)skip_space(&parser);
    }
    return length;
}
