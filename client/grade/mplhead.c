/* SPDX-License-Identifier: MIT */
#include "mplhead.h"

#include <string.h>

/* The tests of Lua need luaunit, which few hosts have. This is as much of it as they use. */
static const char lua_head[] =
    "if not pcall(require, 'luaunit') then package.preload['luaunit'] = function() "
    "local lu = {} "
    "local function same(a, b) "
    "if type(a) ~= 'table' or type(b) ~= 'table' then return a == b or (a ~= a and b ~= b) end "
    "for k, v in pairs(a) do if not same(v, b[k]) then return false end end "
    "for k in pairs(b) do if a[k] == nil then return false end end return true end "
    "function lu.assertEquals(a, b) "
    "if not same(a, b) then error('expected: ' .. tostring(b) .. ', actual: ' .. tostring(a), 2) "
    "end end "
    "lu.LuaUnit = {run = function() local failed = 0 "
    "for name, value in pairs(_G) do "
    "if type(value) == 'function' and name:lower():find('^test') then "
    "local ok, why = pcall(value) "
    "if not ok then failed = failed + 1 io.stderr:write(name, ': ', tostring(why), '\\n') end "
    "end end return failed end} "
    "return lu end end ";

/* Those of Perl need Test::Deep, of which they use one function. */
static const char perl_head[] =
    "BEGIN { unless (eval { require Test::Deep; 1 }) { $INC{'Test/Deep.pm'} = 'built in'; "
    "*Test::Deep::import = sub { no strict 'refs'; "
    "*{caller() . '::eq_deeply'} = \\&Test::Deep::eq_deeply }; "
    "*Test::Deep::eq_deeply = sub { my ($x, $y) = @_; "
    "return !defined $x && !defined $y if !defined $x || !defined $y; "
    "return 0 if ref $x ne ref $y; "
    "if (ref $x eq 'ARRAY') { return 0 if @$x != @$y; "
    "for (0 .. $#$x) { return 0 if !Test::Deep::eq_deeply($x->[$_], $y->[$_]) } return 1 } "
    "if (ref $x eq 'HASH') { return 0 if keys %$x != keys %$y; "
    "for (keys %$x) { return 0 if !exists $y->{$_} || "
    "!Test::Deep::eq_deeply($x->{$_}, $y->{$_}) } return 1 } "
    "return $x eq $y } } } ";

/* Those of C# are Debug.Assert(), which its compiler leaves out and Mono does not end a program
 * for; MultiPL-E's evaluator looks for a message. */
static const char csharp_assert[] = "Debug.Assert(";
static const char csharp_own[] = "RubricAssert.Assert(";
static const char csharp_class[] = "\nclass RubricAssert {\n"
                                   "    public static void Assert(bool ok, params object[] _) {\n"
                                   "        if (ok)\n"
                                   "            return;\n"
                                   "        System.Console.Error.WriteLine(\"assertion failed\");\n"
                                   "        System.Environment.Exit(1);\n"
                                   "    }\n"
                                   "}\n";

static const char java_assert[] = "assert(", java_own[] = "RubricAssert.check(";
static const char java_class[] = "\nclass RubricAssert {\n"
                                 "    static void check(boolean ok) {\n"
                                 "        if (!ok)\n"
                                 "            throw new AssertionError();\n"
                                 "    }\n"
                                 "}\n";

/* The programs of Java import org.javatuples, which is in no package, and a few use it. */
static const char java_import[] = "import org.javatuples.";
static const char java_base[] =
    "\nabstract class Tuple implements Iterable<Object>, Comparable<Tuple> {\n"
    "    private final Object[] all;\n"
    "    protected Tuple(Object... all) { this.all = all; }\n"
    "    public int getSize() { return all.length; }\n"
    "    public Object getValue(int i) { return all[i]; }\n"
    "    public java.util.List<Object> toList() { return java.util.Arrays.asList(all.clone()); }\n"
    "    public Object[] toArray() { return all.clone(); }\n"
    "    public boolean contains(Object o) { return toList().contains(o); }\n"
    "    public int indexOf(Object o) { return toList().indexOf(o); }\n"
    "    public java.util.Iterator<Object> iterator() { return toList().iterator(); }\n"
    "    public int hashCode() { return toList().hashCode(); }\n"
    "    public boolean equals(Object o) {\n"
    "        return o != null && o.getClass() == getClass() && toList().equals(((Tuple) "
    "o).toList());\n"
    "    }\n"
    "    public String toString() { return toList().toString(); }\n"
    "    @SuppressWarnings(\"unchecked\")\n"
    "    public int compareTo(Tuple o) {\n"
    "        for (int i = 0; i < all.length && i < o.all.length; i++) {\n"
    "            int r = ((Comparable<Object>) all[i]).compareTo(o.all[i]);\n"
    "            if (r != 0)\n"
    "                return r;\n"
    "        }\n"
    "        return Integer.compare(all.length, o.all.length);\n"
    "    }\n"
    "}\n";
static const char *const java_tuples[] = {"Unit",    "Pair",   "Triplet", "Quartet",
                                          "Quintet", "Sextet", "Septet"};

void mpl_put_head(struct textbuf *out, const char *language)
{
    if (strcmp(language, "lua") == 0)
        (void)fputs(lua_head, out->out);
    else if (strcmp(language, "perl") == 0)
        (void)fputs(perl_head, out->out);
}

/* Writes the class NAME of COUNT values. */
static void put_tuple(FILE *out, const char *name, size_t count)
{
    static const char letters[] = "ABCDEFG";
    char parameters[64] = "", declared[256] = "", given[128] = "";
    for (size_t i = 0, p = 0, d = 0, g = 0; i < count; i++) {
        const char *comma = i > 0 ? ", " : "";
        p += (size_t)snprintf(parameters + p, sizeof(parameters) - p, "%s%c", comma, letters[i]);
        d +=
            (size_t)snprintf(declared + d, sizeof(declared) - d, "%s%c v%zu", comma, letters[i], i);
        g += (size_t)snprintf(given + g, sizeof(given) - g, "%sv%zu", comma, i);
    }
    (void)fprintf(out, "class %s<%s> extends Tuple {\n", name, parameters);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out,
                      "    private final %c v%zu;\n    public %c getValue%zu() { return v%zu; }\n",
                      letters[i], i, letters[i], i, i);
    (void)fprintf(out, "    public %s(%s) {\n        super(%s);\n", name, declared, given);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "        this.v%zu = v%zu;\n", i, i);
    (void)fprintf(out,
                  "    }\n    public static <%s> %s<%s> with(%s) {\n"
                  "        return new %s<%s>(%s);\n    }\n}\n",
                  parameters, name, parameters, declared, name, parameters, given);
}

static bool has(const char *text, size_t n, const char *word)
{
    return memmem(text, n, word, strlen(word)) != NULL;
}

/* Copies a program in Java with tuples of its own in the place of those that it imports. */
static void put_java(struct textbuf *out, const char *text, size_t n)
{
    const char *from = text, *end = text + n;
    bool is_used = false;
    if (!has(text, n, java_import)) {
        textbuf_add(out, text, n);
        return;
    }
    while (from < end) {
        const char *feed = memchr(from, '\n', (size_t)(end - from));
        size_t length = feed ? (size_t)(feed - from) : (size_t)(end - from);
        if (!has(from, length, java_import))
            textbuf_add(out, from, length);
        from += length;
        textbuf_add(out, "\n", from < end);
        from += from < end;
    }
    for (size_t i = 0; i < ARRAY_SIZE(java_tuples); i++)
        is_used |= has(text, n, java_tuples[i]);
    if (is_used)
        (void)fputs(java_base, out->out);
    for (size_t i = 0; i < ARRAY_SIZE(java_tuples); i++)
        if (has(text, n, java_tuples[i]))
            put_tuple(out->out, java_tuples[i], i + 1);
}

/* Copies the N bytes of TEXT with OWN in the place of each WORD. */
static void replace(struct textbuf *out, const char *text, size_t n, const char *word,
                    const char *own)
{
    const char *end = text + n, *found;
    while ((found = memmem(text, (size_t)(end - text), word, strlen(word)))) {
        textbuf_add(out, text, (size_t)(found - text));
        (void)fputs(own, out->out);
        text = found + strlen(word);
    }
    textbuf_add(out, text, (size_t)(end - text));
}

void mpl_put_tests(struct textbuf *out, const char *language, const char *tests, size_t n)
{
    bool is_java = strcmp(language, "java") == 0;
    if (!is_java && strcmp(language, "csharp") != 0) {
        textbuf_add(out, tests, n);
        return;
    }
    replace(out, tests, n, is_java ? java_assert : csharp_assert, is_java ? java_own : csharp_own);
    (void)fputs(is_java ? java_class : csharp_class, out->out);
}

void mpl_put_program(struct textbuf *out, const char *language, const char *text, size_t n)
{
    if (strcmp(language, "java") == 0)
        put_java(out, text, n);
    else
        textbuf_add(out, text, n);
}
