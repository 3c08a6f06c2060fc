/* SPDX-License-Identifier: Apache-2.0 */
/* Just enough XML to read the IR files that OpenVINO writes: tags and attributes, no text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct xml_tag {
    const char *start, *end; /* from '<' to behind '>' */
    const char *name;
    size_t name_length;
    bool is_closing; /* </x> */
    bool is_empty;   /* <x/> */
};

/* The first tag at or after `*at` and before `end`; moves `*at` behind it. False: none is left. */
bool xml_next(const char **at, const char *end, struct xml_tag *tag);

bool xml_is(const struct xml_tag *tag, const char *name);

/* Copy the value of an attribute, with entities resolved; false (and "") if it is not there. */
bool xml_attribute(const struct xml_tag *tag, const char *name, char *out, size_t size);

/* Copy the text between a tag and the next one. */
void xml_text(const struct xml_tag *tag, const char *end, char *out, size_t size);

/* Write `text` so that it can stand in an attribute; gives the length that it has. */
size_t xml_escape(const char *text, char *out, size_t size);
