/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a model: right for a good one, and harmless for every damaged one. */
#include "../../../csrc/npu/container.h"
#include "../../../csrc/npu/ir.h"
#include "../../../csrc/npu/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static void expect(int condition, const char *text, int line)
{
    if (condition)
        return;
    fprintf(stderr, "line %d: not so: %s\n", line, text);
    exit(1);
}

static const char model[] =
    "<?xml version=\"1.0\"?>\n<net name=\"m\" version=\"11\">\n<layers>\n"
    "<layer id=\"0\" name=\"i&lt;&amp;>&quot;x\" type=\"Parameter\" version=\"opset1\">"
    "<data shape=\"1,8\" element_type=\"f32\" />"
    "<output><port id=\"0\" precision=\"FP32\" names=\"a,b\\,c\"><dim>1</dim><dim>8</dim></port>"
    "</output></layer>\n"
    "<layer id=\"2\" name=\"read\" type=\"ReadValue\" version=\"opset6\">"
    "<data variable_id=\"v\" variable_type=\"dynamic\" variable_shape=\"...\" />"
    "<input><port id=\"0\" precision=\"FP32\"><dim>7</dim></port></input>"
    "<output><port id=\"1\" precision=\"FP32\"><dim>1</dim><dim>8</dim></port></output></layer>\n"
    "<layer id=\"3\" name=\"loop\" type=\"Loop\" version=\"opset5\"><body><layers>"
    "<layer id=\"0\" name=\"inner\" type=\"Parameter\"><output><port id=\"0\" precision=\"I64\"/>"
    "</output></layer></layers></body></layer>\n"
    "<layer id=\"5\" name=\"write\" type=\"Assign\" version=\"opset6\">"
    "<data variable_id=\"v\" />"
    "<input><port id=\"0\" precision=\"FP32\"><dim>1</dim><dim>8</dim></port></input></layer>\n"
    "<layer id=\"6\" name=\"res\" type=\"Result\" version=\"opset1\" output_names=\"o\">"
    "<input><port id=\"0\" precision=\"FP32\"><dim>1</dim><dim>8</dim></port></input></layer>\n"
    "</layers>\n<edges>"
    "<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"0\" />"
    "<edge from-layer=\"2\" from-port=\"1\" to-layer=\"3\" to-port=\"0\" />"
    "</edges>\n</net>\n";

static void check_good_model(void)
{
    struct ir ir;
    EXPECT(ir_read(model, strlen(model), &ir));
    EXPECT(ir.input_count == 2 && ir.output_count == 2);
    EXPECT(strcmp(ir.inputs[0].name, "i<&>\"x") == 0);
    EXPECT(!ir.inputs[0].is_state && ir.inputs[0].tensor_name_count == 2);
    EXPECT(strcmp(ir.inputs[0].tensor_names[1], "b,c") == 0);
    EXPECT(ir.inputs[1].is_state && strcmp(ir.inputs[1].name, "vpux_ie_read_value_v") == 0);
    EXPECT(ir.outputs[0].is_state && strcmp(ir.outputs[0].name, "vpux_ie_assign_v") == 0);
    EXPECT(strcmp(ir.outputs[1].tensor_names[0], "o") == 0);
    EXPECT(strcmp(ir.supported, "<i<&>\"x><read><loop><write><res>") == 0);
    EXPECT(ir.stateless && !strstr(ir.stateless, "ReadValue") && !strstr(ir.stateless, "Assign"));
    EXPECT(strstr(ir.stateless, "<data shape=\"1,8\" element_type=\"f32\"/>") != NULL);
    EXPECT(!strstr(ir.stateless, "to-layer=\"2\"") && strstr(ir.stateless, "from-layer=\"2\""));
    ir_free(&ir);
}

/* Read a block of exactly this size, so that a sanitizer sees a step beyond it. */
static void read_exactly(const char *text, size_t size)
{
    struct ir ir;
    char *copy = malloc(size ? size : 1);
    memcpy(copy, text, size);
    if (ir_read(copy, size, &ir))
        ir_free(&ir);
    free(copy);
}

static void check_damaged_models(void)
{
    const size_t size = strlen(model);
    struct ir ir;
    for (size_t length = 0; length < size; length++)
        read_exactly(model, length);
    EXPECT(!ir_read(model, size / 2, &ir));
    EXPECT(!ir_read("<other></other>", 15, &ir));
    static const char damage[] = {'<', '>', '"', '/', '\0'};
    for (size_t at = 0; at < size; at++)
        for (size_t i = 0; i < sizeof damage; i++) {
            char *copy = strdup(model);
            copy[at] = damage[i];
            read_exactly(copy, size);
            free(copy);
        }
}

static void check_containers(void)
{
    uint8_t block[64] = {7, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c', 0, 0,
                         3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3};
    const size_t size = 32;
    struct container container;
    EXPECT(container_read(block, size, &container));
    EXPECT(container.xml_size == 3 && memcmp(container.xml, "abc", 3) == 0);
    EXPECT(container.weights_size == 3 && container.weights[2] == 3);
    for (size_t length = 0; length < size; length++) {
        uint8_t *copy = malloc(length ? length : 1);
        memcpy(copy, block, length);
        EXPECT(!container_read(copy, length, &container));
        free(copy);
    }
    memset(block + 8, 0xff, 8); /* a size that would overflow */
    EXPECT(!container_read(block, size, &container));
}

static void check_escapes(void)
{
    char out[64];
    EXPECT(xml_escape("a<b>&\"c", out, sizeof out) == strlen(out));
    EXPECT(strcmp(out, "a&#60;b&#62;&#38;&#34;c") == 0);
    EXPECT(xml_escape("<<<<<<<<<<<<<<<<<<<<<<<<<<<", out, sizeof out) < sizeof out);
}

int main(void)
{
    check_good_model();
    check_damaged_models();
    check_containers();
    check_escapes();
    puts("done");
    return 0;
}
