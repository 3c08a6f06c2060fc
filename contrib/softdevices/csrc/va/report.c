/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffers.h"
#include "images.h"
#include "surfaces.h"

static void write_format(FILE *to, const struct softva_format *format, uint32_t width,
                         uint32_t height)
{
    fprintf(to, " format=%.4s width=%u height=%u", (const char *)&format->fourcc, width, height);
}

static void write_surface(FILE *to, const struct softva_surface *surface)
{
    write_format(to, surface->format, surface->width, surface->height);
    fprintf(to, " memory=%s objects=%u", surface->objects[0]->source,
            surface->layout.object_count);
}

static void write_object(FILE *to, const struct softva_object *object)
{
    static const char *const kinds[] = {
        [SOFTVA_CONFIG] = "config", [SOFTVA_CONTEXT] = "context", [SOFTVA_SURFACE] = "surface",
        [SOFTVA_BUFFER] = "buffer", [SOFTVA_IMAGE] = "image",
    };
    const struct softva_buffer *buffer;
    const struct softva_image *image;

    fprintf(to, "softva %s id=%u", kinds[object->kind], object->id);
    switch (object->kind) {
    case SOFTVA_SURFACE:
        write_surface(to, (const struct softva_surface *)object);
        break;
    case SOFTVA_IMAGE:
        image = (const struct softva_image *)object;
        write_format(to, image->format, image->description.width, image->description.height);
        break;
    case SOFTVA_BUFFER:
        buffer = (const struct softva_buffer *)object;
        fprintf(to, " surface=%u mapped=%u acquired=%u", buffer->surface, buffer->mapped,
                buffer->acquired);
        break;
    case SOFTVA_CONFIG:
    case SOFTVA_CONTEXT:
        break;
    }
    fputc('\n', to);
}

static void write_display(struct softva_display *display, void *stream)
{
    FILE *to = stream;

    for (size_t i = 0; i < display->table.count; i++)
        write_object(to, display->table.objects[i]);
    softva_descriptors_prune(&display->descriptors);
    for (size_t i = 0; i < display->descriptors.count; i++)
        fprintf(to, "softva descriptor fd=%d surface=%u\n", display->descriptors.list[i].fd,
                display->descriptors.list[i].surface);
}

/* Appends `text` with one call, so that the lines of several processes do not mix. */
static void put(const char *text, size_t size)
{
    const char *path = getenv("SOFTVA_REPORT");
    int fd;

    if (!path || !*path)
        return;
    if (strcmp(path, "stderr") == 0) {
        fwrite(text, 1, size, stderr);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    while (size) {
        ssize_t written = write(fd, text, size);

        if (written <= 0)
            break;
        text += written;
        size -= (size_t)written;
    }
    close(fd);
}

void softva_report_end(struct softva_display *display)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return;
    write_display(display, stream);
    fputs("softva end\n", stream);
    fclose(stream);
    put(text, size);
    free(text);
}

char *softva_report_live(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return NULL;
    softva_for_displays(true, write_display, stream);
    fclose(stream);
    return text;
}

void softva_report_free(char *text)
{
    free(text);
}

static void report_abandoned(struct softva_display *display, void *user)
{
    (void)user;
    softva_report_end(display);
}

/* Displays that nobody ended. They are not freed: other threads may still use them. */
__attribute__((destructor)) static void report_at_exit(void)
{
    softva_for_displays(false, report_abandoned, NULL);
}
