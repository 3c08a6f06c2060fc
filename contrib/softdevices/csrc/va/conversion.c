/* SPDX-License-Identifier: Apache-2.0 */
#include "conversion.h"

#include <string.h>

enum { COMPONENTS = 3 };

/* Samples are numbers from 0 to this, whatever their bits. */
static const double RANGE = 65536.0;

/* Where the samples of one component lie: of each cell of a plane, `bytes` at `offset`. */
struct component {
    uint32_t plane, offset, bytes, step;
    uint32_t log2_width, log2_height;
};

/* A format by its components: Y, U and V, or red, green and blue. */
struct components {
    bool rgb;
    struct component list[COMPONENTS];
};

/* RGB in words of 32 bits, whose bytes are the components. */
static bool read_packed(const struct softva_format *format, struct components *found)
{
    if (format->plane_count != 1 || format->planes[0].bytes != 4 || !format->masks[0])
        return false;
    for (int i = 0; i < COMPONENTS; i++) {
        uint32_t shift = 0;

        while (!(format->masks[i] >> shift & 1))
            shift++;
        if (shift % 8 || format->masks[i] >> shift != 0xff)
            return false;
        found->list[i] = (struct component){.offset = shift / 8, .bytes = 1, .step = 4};
    }
    found->rgb = true;
    return true;
}

static bool read_planes(const struct softva_format *format, struct components *found)
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < format->plane_count; i++) {
        const struct softva_plane_format *plane = &format->planes[i];
        const char *const names = strchr("rgb", plane->holds) ? "rgb" : "yuv";
        struct component one = {.plane = i,
                                .bytes = plane->bytes,
                                .step = plane->bytes,
                                .log2_width = plane->log2_width,
                                .log2_height = plane->log2_height};

        found->rgb = names[0] == 'r';
        if (plane->holds == 'c') {
            bool swapped = format->fourcc == VA_FOURCC_NV21;

            one.bytes /= 2;
            found->list[swapped ? 2 : 1] = one;
            one.offset = one.bytes;
            found->list[swapped ? 1 : 2] = one;
            seen += 2;
        } else if (strchr(names, plane->holds)) {
            found->list[strchr(names, plane->holds) - names] = one;
            seen++;
        }
    }
    return seen == COMPONENTS;
}

static bool read_components(const struct softva_format *format, struct components *found)
{
    memset(found, 0, sizeof *found);
    return read_packed(format, found) || read_planes(format, found);
}

bool softva_can_convert(const struct softva_format *format)
{
    struct components found;

    /* Samples of 10 bits lie in the low bits of this one alone. */
    return format->fourcc != VA_FOURCC_I010 && read_components(format, &found);
}

/* One picture, its components, and the part of it that is used. */
struct side {
    const struct softva_picture *picture;
    struct components components;
    struct softva_area area;
    const struct softva_colors *colors;
};

static double load(const struct side *side, const struct component *component, uint32_t x,
                   uint32_t y)
{
    const uint8_t *at = softva_pixel_at(side->picture, component->plane,
                                        x * component->step + component->offset, y);

    return component->bytes == 2 ? at[0] | at[1] << 8 : at[0] << 8;
}

/* The distance between two samples that can be told apart. */
static double unit_of(const struct softva_format *format, const struct component *component)
{
    if (component->bytes == 1)
        return 256;
    return format->fourcc == VA_FOURCC_P010 ? 64 : format->fourcc == VA_FOURCC_P012 ? 16 : 1;
}

static void store(const struct side *side, const struct component *component, uint32_t x,
                  uint32_t y, double value)
{
    uint8_t *at = softva_pixel_at(side->picture, component->plane,
                                  x * component->step + component->offset, y);
    const double unit = unit_of(side->picture->format, component);
    double rounded = value / unit + 0.5, most = RANGE / unit - 1;
    uint32_t number = (uint32_t)(rounded < 0 ? 0 : rounded > most ? most : rounded);

    number *= (uint32_t)unit;

    if (component->bytes == 2) {
        at[0] = (uint8_t)number;
        at[1] = (uint8_t)(number >> 8);
    } else {
        at[0] = (uint8_t)(number >> 8);
    }
}

/* A place between two cells: the one before, the one after, and the share of that. */
struct between {
    uint32_t first, second;
    double share;
};

/* The cells around `place`, counted in pixels, among those of `begin` to `end`, also in pixels. */
static struct between cells_around(double place, uint32_t log2, uint32_t begin, uint32_t end,
                                   bool nearest)
{
    uint32_t first = begin >> log2, last = ((end - 1) >> log2);
    double cell = place / (1u << log2) - 0.5;
    struct between found;

    cell = cell < first ? first : cell > last ? last : cell;
    if (nearest)
        cell = (uint32_t)(cell + 0.5);
    found.first = (uint32_t)cell;
    found.second = found.first < last ? found.first + 1 : last;
    found.share = cell - found.first;
    return found;
}

static double sample(const struct side *side, int number, double x, double y, bool nearest)
{
    const struct component *component = &side->components.list[number];
    const struct softva_area *area = &side->area;
    struct between across =
        cells_around(x, component->log2_width, area->x, area->x + area->width, nearest);
    struct between down =
        cells_around(y, component->log2_height, area->y, area->y + area->height, nearest);
    double upper = load(side, component, across.first, down.first);
    double lower;

    if (across.share > 0)
        upper += (load(side, component, across.second, down.first) - upper) * across.share;
    if (down.share <= 0)
        return upper;
    lower = load(side, component, across.first, down.second);
    if (across.share > 0)
        lower += (load(side, component, across.second, down.second) - lower) * across.share;
    return upper + (lower - upper) * down.share;
}

/* The numbers of ITU-T H.273, in units of a sample of 8 bits: the least luma, its range, that of
 * chroma. */
static void ranges_of(const struct softva_colors *colors, double ranges[3])
{
    ranges[0] = colors->full ? 0 : 16;
    ranges[1] = colors->full ? 255 : 219;
    ranges[2] = colors->full ? 255 : 224;
}

/* Samples of YUV become red, green and blue from 0 to 1. */
static void to_rgb(const struct softva_colors *colors, const double yuv[3], double rgb[3])
{
    double ranges[3], y, u, v;

    ranges_of(colors, ranges);
    y = (yuv[0] / 256 - ranges[0]) / ranges[1];
    u = (yuv[1] / 256 - 128) / ranges[2];
    v = (yuv[2] / 256 - 128) / ranges[2];
    rgb[0] = y + 2 * (1 - colors->kr) * v;
    rgb[2] = y + 2 * (1 - colors->kb) * u;
    rgb[1] = (y - colors->kr * rgb[0] - colors->kb * rgb[2]) / (1 - colors->kr - colors->kb);
}

static void to_yuv(const struct softva_colors *colors, const double rgb[3], double yuv[3])
{
    double ranges[3];
    double y = colors->kr * rgb[0] + (1 - colors->kr - colors->kb) * rgb[1] + colors->kb * rgb[2];

    ranges_of(colors, ranges);
    yuv[0] = (ranges[0] + ranges[1] * y) * 256;
    yuv[1] = (128 + ranges[2] * (rgb[2] - y) / (2 * (1 - colors->kb))) * 256;
    yuv[2] = (128 + ranges[2] * (rgb[0] - y) / (2 * (1 - colors->kr))) * 256;
}

/* A sample of the target's component at a place of the source, by way of red, green and blue. */
static double converted(const struct side *target, const struct side *source, int number, double x,
                        double y, bool nearest)
{
    double found[3], rgb[3], yuv[3];

    for (int i = 0; i < COMPONENTS; i++)
        found[i] = sample(source, i, x, y, nearest);
    if (source->components.rgb)
        for (int i = 0; i < COMPONENTS; i++)
            rgb[i] = found[i] / (255 * 256.0);
    else
        to_rgb(source->colors, found, rgb);
    if (target->components.rgb) {
        double clipped = rgb[number] < 0 ? 0 : rgb[number] > 1 ? 1 : rgb[number];

        return clipped * 255 * 256;
    }
    to_yuv(target->colors, rgb, yuv);
    return yuv[number];
}

/* Whether the same numbers mean the same colour in both. */
static bool mean_the_same(const struct side *one, const struct side *other)
{
    if (one->components.rgb || other->components.rgb)
        return one->components.rgb && other->components.rgb;
    return one->colors->kr == other->colors->kr && one->colors->kb == other->colors->kb &&
           one->colors->full == other->colors->full;
}

static void fill_component(const struct side *target, const struct side *source, int number,
                           bool nearest)
{
    const struct component *component = &target->components.list[number];
    const struct softva_area *to = &target->area, *from = &source->area;
    const bool direct = mean_the_same(target, source);
    uint32_t last_x = (to->x + to->width - 1) >> component->log2_width;
    uint32_t last_y = (to->y + to->height - 1) >> component->log2_height;

    for (uint32_t cy = to->y >> component->log2_height; cy <= last_y; cy++) {
        double y = (cy + 0.5) * (1u << component->log2_height) - to->y;

        y = from->y + y * from->height / to->height;
        for (uint32_t cx = to->x >> component->log2_width; cx <= last_x; cx++) {
            double x = (cx + 0.5) * (1u << component->log2_width) - to->x;

            x = from->x + x * from->width / to->width;
            store(target, component, cx, cy,
                  direct ? sample(source, number, x, y, nearest)
                         : converted(target, source, number, x, y, nearest));
        }
    }
}

/* The byte of a word of RGB that holds no colour is that of an opaque picture. */
static void make_opaque(const struct side *side)
{
    for (uint32_t y = side->area.y; y < side->area.y + side->area.height; y++)
        for (uint32_t x = side->area.x; x < side->area.x + side->area.width; x++)
            memset(softva_pixel_at(side->picture, 0, x * 4, y), 0xff, 4);
}

void softva_convert(const struct softva_picture *target, const struct softva_area *to,
                    const struct softva_colors *target_colors,
                    const struct softva_picture *source, const struct softva_area *from,
                    const struct softva_colors *source_colors, bool nearest)
{
    struct side into = {.picture = target, .area = *to, .colors = target_colors};
    struct side out_of = {.picture = source, .area = *from, .colors = source_colors};

    if (!read_components(target->format, &into.components) ||
        !read_components(source->format, &out_of.components))
        return;
    if (target->format->masks[0])
        make_opaque(&into);
    for (int i = 0; i < COMPONENTS; i++)
        fill_component(&into, &out_of, i, nearest);
}
