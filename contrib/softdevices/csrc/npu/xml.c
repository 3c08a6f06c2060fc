/* SPDX-License-Identifier: Apache-2.0 */
#include "xml.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the '>' of the tag at `at`: one within quotes does not count. NULL if it never ends. */
static const char *end_of_tag(const char *at, const char *end)
{
    char quote = '\0';
    for (; at < end; at++) {
        if (quote) {
            if (*at == quote)
                quote = '\0';
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '>') {
            return at + 1;
        }
    }
    return NULL;
}

bool xml_next(const char **at, const char *end, struct xml_tag *tag)
{
    for (;;) {
        const char *start = *at < end ? memchr(*at, '<', (size_t)(end - *at)) : NULL;
        const char *behind = start ? end_of_tag(start, end) : NULL;
        if (!behind)
            return false;
        *at = behind;
        if (start[1] == '?' || start[1] == '!')
            continue;
        tag->start = start;
        tag->end = behind;
        tag->is_closing = start[1] == '/';
        tag->is_empty = behind[-2] == '/';
        tag->name = start + (tag->is_closing ? 2 : 1);
        tag->name_length = strcspn(tag->name, " \t\r\n/>");
        return true;
    }
}

bool xml_is(const struct xml_tag *tag, const char *name)
{
    return tag->name_length == strlen(name) && memcmp(tag->name, name, tag->name_length) == 0;
}

/* Copy one character or entity from `*at` to `out`; gives the bytes written, at most one. */
static char unescape(const char **at, const char *end)
{
    static const struct {
        const char *entity;
        char character;
    } entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''},
    };
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        const size_t length = strlen(entities[i].entity);
        if ((size_t)(end - *at) >= length && memcmp(*at, entities[i].entity, length) == 0) {
            *at += length;
            return entities[i].character;
        }
    }
    if (end - *at > 3 && (*at)[0] == '&' && (*at)[1] == '#') {
        const bool hexadecimal = (*at)[2] == 'x';
        char *behind;
        long code = strtol(*at + (hexadecimal ? 3 : 2), &behind, hexadecimal ? 16 : 10);
        if (behind < end && *behind == ';') {
            *at = behind + 1;
            return (char)code;
        }
    }
    return *(*at)++;
}

static void copy_unescaped(const char *at, const char *end, char *out, size_t size)
{
    size_t length = 0;
    while (at < end && length + 1 < size)
        out[length++] = unescape(&at, end);
    out[length] = '\0';
}

bool xml_attribute(const struct xml_tag *tag, const char *name, char *out, size_t size)
{
    const size_t length = strlen(name);
    const char *at = tag->name + tag->name_length;
    *out = '\0';
    while (at < tag->end) {
        while (at < tag->end && isspace((unsigned char)*at))
            at++;
        const char *key = at;
        while (at < tag->end && *at != '=' && *at != '>' && *at != '/')
            at++;
        const size_t key_length = (size_t)(at - key);
        if (at + 1 >= tag->end || *at != '=' || (at[1] != '"' && at[1] != '\''))
            return false;
        const char *value = at + 2;
        const char *close = memchr(value, at[1], (size_t)(tag->end - value));
        if (!close)
            return false;
        if (key_length == length && memcmp(key, name, length) == 0) {
            copy_unescaped(value, close, out, size);
            return true;
        }
        at = close + 1;
    }
    return false;
}

void xml_text(const struct xml_tag *tag, const char *end, char *out, size_t size)
{
    const char *close = memchr(tag->end, '<', (size_t)(end - tag->end));
    copy_unescaped(tag->end, close ? close : tag->end, out, size);
}

size_t xml_escape(const char *text, char *out, size_t size)
{
    size_t length = 0;
    for (; *text && length + 8 < size; text++) {
        if (strchr("<>&\"'", *text))
            length += (size_t)snprintf(out + length, size - length, "&#%d;", *text);
        else
            out[length++] = *text;
    }
    out[length] = '\0';
    return length;
}
