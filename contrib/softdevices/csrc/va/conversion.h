/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of another size and format: each sample of the new one is computed from those around its place in
 * the old one. */
#ifndef SOFTVA_CONVERSION_H
#define SOFTVA_CONVERSION_H

#include "pixels.h"

/* What the numbers of a picture of YUV mean: the weights of red and blue in luma, and their range. */
struct softva_colors {
    double kr, kb;
    bool full;
};

/* Whether pictures of `format` can be read and written here: all but packed YUV, gray and RGB of less than
 * 8 bits or more. */
bool softva_can_convert(const struct softva_format *format);

/* Makes the area `to` of `target` of the area `from` of `source`; `nearest` takes the nearest sample, else it
 * is bilinear. Colours of RGB are ignored. The pictures are not the same one. */
void softva_convert(const struct softva_picture *target, const struct softva_area *to,
                    const struct softva_colors *target_colors,
                    const struct softva_picture *source, const struct softva_area *from,
                    const struct softva_colors *source_colors, bool nearest);

#endif
