/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables: the NPU's compiler turns ReadValue and Assign into one more input and output, with
 * names that OpenVINO's plugin recognises; the plugin keeps the values and copies them from the
 * output to the input between two inferences. So the XML is rewritten here: a ReadValue becomes
 * a Parameter without the edge of its initial value, an Assign becomes a Result.
 */
#define _GNU_SOURCE
#include "ir.h"

#include "element_type.h"
#include "xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* intel_npu/prefix.hpp of OpenVINO's plugin. */
#define READ_VALUE_PREFIX "vpux_ie_read_value_"
#define ASSIGN_PREFIX "vpux_ie_assign_"

/* Depths of tags in an IR: net, layers, layer; deeper are ports, and the bodies of loops. */
enum { DEPTH_LAYER = 2, DEPTH_EDGE = 2, DEPTH_DATA = 3, DEPTH_PORT = 4, DEPTH_DIMENSION = 5 };

enum layer_kind { LAYER_OTHER, LAYER_PARAMETER, LAYER_RESULT, LAYER_READ_VALUE, LAYER_ASSIGN };

struct layer {
    enum layer_kind kind;
    const char *start, *end; /* in the XML */
    char id[24];
    char type[64];
    char name[IR_NAME_SIZE];
    char variable[IR_NAME_SIZE - 32]; /* a prefix goes before it */
    char names[4096];                 /* of its output tensor, or of a Result's */
    char precision[24];
    char shape[128]; /* "1,8" */
    bool in_output;
};

struct reader {
    struct ir *ir;
    const char *xml, *end;
    FILE *supported;
    FILE *stateless;
    const char *copied; /* up to here the XML is in `stateless` */
    char (*read_values)[24];
    size_t read_value_count;
    bool has_states;
    bool failed;
};

static enum layer_kind kind_of(const char *type)
{
    static const char *const types[] = {"", "Parameter", "Result", "ReadValue", "Assign"};
    for (int kind = LAYER_PARAMETER; kind <= LAYER_ASSIGN; kind++)
        if (strcmp(type, types[kind]) == 0)
            return (enum layer_kind)kind;
    return LAYER_OTHER;
}

/* Names are separated by commas; a comma within a name stands behind a backslash. */
static void split_names(const char *names, struct ir_port *port)
{
    while (*names && port->tensor_name_count < IR_TENSOR_NAMES) {
        char *name = port->tensor_names[port->tensor_name_count];
        size_t length = 0;
        for (; *names && *names != ','; names++) {
            if (names[0] == '\\' && names[1] == ',')
                names++;
            if (length + 1 < IR_NAME_SIZE)
                name[length++] = *names;
        }
        name[length] = '\0';
        if (length)
            port->tensor_name_count++;
        if (*names == ',')
            names++;
    }
}

static struct ir_port *add_port(struct reader *reader, struct ir_port **ports, size_t *count)
{
    struct ir_port *grown = realloc(*ports, (*count + 1) * sizeof *grown);
    if (!grown) {
        reader->failed = true;
        return NULL;
    }
    *ports = grown;
    memset(&grown[*count], 0, sizeof *grown);
    return &grown[(*count)++];
}

static void add_port_of(struct reader *reader, const struct layer *layer)
{
    struct ir *ir = reader->ir;
    const bool is_input = layer->kind == LAYER_PARAMETER || layer->kind == LAYER_READ_VALUE;
    struct ir_port *port = is_input ? add_port(reader, &ir->inputs, &ir->input_count)
                                    : add_port(reader, &ir->outputs, &ir->output_count);
    if (!port)
        return;
    port->is_state = layer->kind == LAYER_READ_VALUE || layer->kind == LAYER_ASSIGN;
    if (port->is_state)
        snprintf(port->name, sizeof port->name, "%s%s",
                 is_input ? READ_VALUE_PREFIX : ASSIGN_PREFIX, layer->variable);
    else
        snprintf(port->name, sizeof port->name, "%s", layer->name);
    snprintf(port->layer, sizeof port->layer, "%s", layer->id);
    split_names(layer->names, port);
}

/* Write the layer that stands for a ReadValue or an Assign, instead of it. */
static void write_stateless(struct reader *reader, const struct layer *layer)
{
    char name[6 * IR_NAME_SIZE];
    reader->has_states = true;
    xml_escape(layer->name, name, sizeof name);
    fwrite(reader->copied, 1, (size_t)(layer->start - reader->copied), reader->stateless);
    reader->copied = layer->end;
    if (layer->kind == LAYER_READ_VALUE) {
        const struct element_type *type = element_type_of_precision(layer->precision);
        char dimensions[sizeof layer->shape];
        char *rest = NULL;
        snprintf(dimensions, sizeof dimensions, "%s", layer->shape);
        if (!type) {
            reader->failed = true;
            return;
        }
        fprintf(reader->stateless,
                "<layer id=\"%s\" name=\"%s\" type=\"Parameter\" version=\"opset1\">"
                "<data shape=\"%s\" element_type=\"%s\"/>"
                "<output><port id=\"1\" precision=\"%s\">",
                layer->id, name, layer->shape, type->name, layer->precision);
        for (char *d = strtok_r(dimensions, ",", &rest); d; d = strtok_r(NULL, ",", &rest))
            fprintf(reader->stateless, "<dim>%s</dim>", d);
        fprintf(reader->stateless, "</port></output></layer>");
        return;
    }
    fprintf(reader->stateless,
            "<layer id=\"%s\" name=\"%s\" type=\"Result\" version=\"opset1\">"
            "<input><port id=\"0\" precision=\"%s\">",
            layer->id, name, layer->precision);
    char dimensions[sizeof layer->shape];
    char *rest = NULL;
    snprintf(dimensions, sizeof dimensions, "%s", layer->shape);
    for (char *d = strtok_r(dimensions, ",", &rest); d; d = strtok_r(NULL, ",", &rest))
        fprintf(reader->stateless, "<dim>%s</dim>", d);
    fprintf(reader->stateless, "</port></input></layer>");
}

static void remember_read_value(struct reader *reader, const char *id)
{
    const size_t count = reader->read_value_count;
    char(*grown)[24] = realloc(reader->read_values, (count + 1) * sizeof *grown);
    if (!grown) {
        reader->failed = true;
        return;
    }
    reader->read_values = grown;
    snprintf(grown[count], sizeof *grown, "%s", id);
    reader->read_value_count++;
}

static void end_layer(struct reader *reader, const struct layer *layer)
{
    fprintf(reader->supported, "<%s>", layer->name);
    if (layer->kind == LAYER_OTHER)
        return;
    add_port_of(reader, layer);
    if (layer->kind == LAYER_READ_VALUE)
        remember_read_value(reader, layer->id);
    if (layer->kind == LAYER_READ_VALUE || layer->kind == LAYER_ASSIGN)
        write_stateless(reader, layer);
}

static void begin_layer(const struct xml_tag *tag, struct layer *layer)
{
    memset(layer, 0, sizeof *layer);
    layer->start = tag->start;
    xml_attribute(tag, "id", layer->id, sizeof layer->id);
    xml_attribute(tag, "name", layer->name, sizeof layer->name);
    xml_attribute(tag, "type", layer->type, sizeof layer->type);
    xml_attribute(tag, "output_names", layer->names, sizeof layer->names);
    layer->kind = kind_of(layer->type);
}

/* The port whose type and shape count: the only output, or the only input of a Result or Assign. */
static bool is_the_port(const struct layer *layer)
{
    const bool wants_output = layer->kind == LAYER_PARAMETER || layer->kind == LAYER_READ_VALUE;
    return layer->kind != LAYER_OTHER && layer->in_output == wants_output;
}

static void read_inside_layer(const struct reader *reader, const struct xml_tag *tag, int depth,
                              struct layer *layer)
{
    if (depth == DEPTH_DATA && xml_is(tag, "data"))
        xml_attribute(tag, "variable_id", layer->variable, sizeof layer->variable);
    else if (depth == DEPTH_DATA)
        layer->in_output = xml_is(tag, "output");
    else if (depth == DEPTH_PORT && xml_is(tag, "port") && is_the_port(layer)) {
        xml_attribute(tag, "precision", layer->precision, sizeof layer->precision);
        if (layer->in_output)
            xml_attribute(tag, "names", layer->names, sizeof layer->names);
    } else if (depth == DEPTH_DIMENSION && xml_is(tag, "dim") && is_the_port(layer)) {
        char dimension[24];
        const size_t used = strlen(layer->shape);
        xml_text(tag, reader->end, dimension, sizeof dimension);
        snprintf(layer->shape + used, sizeof layer->shape - used, "%s%s", used ? "," : "",
                 dimension);
    }
}

/* Layers stand before edges in the file, so inputs and outputs are known by now. */
static void note_if_input_is_passed(struct ir *ir, const char *source, const char *target)
{
    for (size_t o = 0; o < ir->output_count; o++)
        for (size_t i = 0; i < ir->input_count; i++)
            if (strcmp(ir->outputs[o].layer, target) == 0 &&
                strcmp(ir->inputs[i].layer, source) == 0) {
                ir->outputs[o].passes_input = true;
                ir->outputs[o].input = i;
            }
}

/* The edge of a ReadValue's initial value goes: a Parameter has no inputs. */
static void read_edge(struct reader *reader, const struct xml_tag *tag)
{
    char source[24], target[24];
    xml_attribute(tag, "from-layer", source, sizeof source);
    xml_attribute(tag, "to-layer", target, sizeof target);
    note_if_input_is_passed(reader->ir, source, target);
    for (size_t i = 0; i < reader->read_value_count; i++) {
        if (strcmp(reader->read_values[i], target) != 0)
            continue;
        fwrite(reader->copied, 1, (size_t)(tag->start - reader->copied), reader->stateless);
        reader->copied = tag->end;
        return;
    }
}

static bool read_tags(struct reader *reader)
{
    const char *at = reader->xml;
    struct xml_tag tag;
    struct layer layer = {0}; /* the one that we are in, else without a start */
    int depth = 0;
    bool is_ir = false;
    while (!reader->failed && xml_next(&at, reader->end, &tag)) {
        if (tag.is_closing) {
            depth--;
            if (depth == DEPTH_LAYER && layer.start) {
                layer.end = tag.end;
                end_layer(reader, &layer);
                layer.start = NULL;
            }
            continue;
        }
        if (depth == 0)
            is_ir = xml_is(&tag, "net");
        else if (depth == DEPTH_LAYER && xml_is(&tag, "layer")) {
            begin_layer(&tag, &layer);
            layer.end = tag.end;
            if (tag.is_empty) {
                end_layer(reader, &layer);
                layer.start = NULL;
            }
        } else if (depth == DEPTH_EDGE && xml_is(&tag, "edge"))
            read_edge(reader, &tag);
        else if (depth > DEPTH_LAYER && layer.start)
            read_inside_layer(reader, &tag, depth, &layer);
        if (!tag.is_empty)
            depth++;
    }
    return is_ir && depth == 0 && !reader->failed;
}

bool ir_read(const char *xml, size_t size, struct ir *ir)
{
    memset(ir, 0, sizeof *ir);
    size_t supported_size, stateless_size;
    struct reader reader = {.ir = ir, .xml = xml, .end = xml + size, .copied = xml};
    reader.supported = open_memstream(&ir->supported, &supported_size);
    reader.stateless = open_memstream(&ir->stateless, &stateless_size);
    bool is_read = reader.supported && reader.stateless && read_tags(&reader);
    if (is_read && reader.has_states)
        fwrite(reader.copied, 1, (size_t)(reader.end - reader.copied), reader.stateless);
    if (reader.supported && fclose(reader.supported))
        is_read = false;
    if (reader.stateless && fclose(reader.stateless))
        is_read = false;
    free(reader.read_values);
    if (!is_read) {
        ir_free(ir);
        return false;
    }
    if (!reader.has_states) {
        free(ir->stateless);
        ir->stateless = NULL;
    }
    return true;
}

void ir_free(struct ir *ir)
{
    free(ir->inputs);
    free(ir->outputs);
    free(ir->supported);
    free(ir->stateless);
    memset(ir, 0, sizeof *ir);
}
