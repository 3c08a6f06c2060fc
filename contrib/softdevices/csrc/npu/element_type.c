/* SPDX-License-Identifier: Apache-2.0 */
#include "element_type.h"

#include <string.h>

static const struct element_type types[] = {
    {1, "boolean", "BOOL", 8, 0x0e, 2},
    {2, "bf16", "BF16", 16, 0x09, 3},
    {3, "f16", "FP16", 16, 0x02, 4},
    {4, "f32", "FP32", 32, 0x01, 5},
    {5, "f64", "FP64", 64, 0x0f, 6},
    {6, "i4", "I4", 4, 0x0c, 7},
    {7, "i8", "I8", 8, 0x07, 8},
    {8, "i16", "I16", 16, 0x06, 9},
    {9, "i32", "I32", 32, 0x05, 10},
    {10, "i64", "I64", 64, 0x11, 11},
    {11, "u1", "BIN", 1, 0x08, 12},
    {12, "u2", "U2", 2, 0x16, 0},
    {14, "u4", "U4", 4, 0x0b, 13},
    {16, "u8", "U8", 8, 0x04, 14},
    {17, "u16", "U16", 16, 0x03, 15},
    {18, "u32", "U32", 32, 0x0a, 16},
    {19, "u64", "U64", 64, 0x10, 17},
    {20, "nf4", "NF4", 4, 0x12, 0},
    {21, "f8e4m3", "F8E4M3", 8, 0x13, 0},
    {22, "f8e5m2", "F8E5M2", 8, 0x14, 0},
    {25, "f8e8m0", "F8E8M0", 8, 0x15, 0},
};

const struct element_type *element_type_of_openvino(int type)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].openvino == type)
            return &types[i];
    return NULL;
}

const struct element_type *element_type_of_precision(const char *precision)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].precision, precision) == 0)
            return &types[i];
    return NULL;
}
