/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* libavcodec/avcodec.h and libavutil/frame.h: what all of these versions have, and where. The driver is
 * built without FFmpeg's headers, since no version of them is that of every system. */
enum { OLDEST = 58, NEWEST = 62, AV_CODEC_ID_MJPEG = 7, AV_PIX_FMT_YUVJ420P = 12 };

struct packet {
    void *buf;
    int64_t pts, dts;
    uint8_t *data;
    int size;
};

struct frame {
    uint8_t *data[8];
    int linesize[8];
    uint8_t **extended_data;
    int width, height, nb_samples, format;
};

static struct {
    const void *(*find_decoder)(int id);
    void *(*alloc_context)(const void *codec);
    int (*open)(void *context, const void *codec, void *options);
    int (*send_packet)(void *context, const struct packet *packet);
    int (*receive_frame)(void *context, struct frame *frame);
    void (*free_context)(void **context);
    struct packet *(*packet_alloc)(void);
    int (*new_packet)(struct packet *packet, int size);
    void (*packet_free)(struct packet **packet);
    struct frame *(*frame_alloc)(void);
    void (*frame_free)(struct frame **frame);
    int (*opt_set)(void *object, const char *name, const char *value, int flags);
    const void *decoder;
} av;

/* Takes a function out of the library, or of libavutil, which it depends on. */
static bool take(void *library, const char *name, void *place)
{
    void *found = dlsym(library, name);

    memcpy(place, &found, sizeof found);
    return found != NULL;
}

static bool take_all(void *library)
{
    return take(library, "avcodec_find_decoder", &av.find_decoder) &&
           take(library, "avcodec_alloc_context3", &av.alloc_context) &&
           take(library, "avcodec_open2", &av.open) &&
           take(library, "avcodec_send_packet", &av.send_packet) &&
           take(library, "avcodec_receive_frame", &av.receive_frame) &&
           take(library, "avcodec_free_context", &av.free_context) &&
           take(library, "av_packet_alloc", &av.packet_alloc) &&
           take(library, "av_new_packet", &av.new_packet) &&
           take(library, "av_packet_free", &av.packet_free) &&
           take(library, "av_frame_alloc", &av.frame_alloc) &&
           take(library, "av_frame_free", &av.frame_free) &&
           take(library, "av_opt_set", &av.opt_set);
}

/* The library stays loaded: codecs may have started threads of its own. */
static void load(void)
{
    for (int version = NEWEST; version >= OLDEST && !av.decoder; version--) {
        char name[32];
        void *library;

        snprintf(name, sizeof name, "libavcodec.so.%d", version);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library && take_all(library))
            av.decoder = av.find_decoder(AV_CODEC_ID_MJPEG);
    }
}

bool softva_jpeg_available(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return av.decoder != NULL;
}

/* Gives the decoded frame, or NULL. */
static struct frame *decode(void *context, const struct packet *packet)
{
    struct frame *frame = av.frame_alloc();

    /* A broken picture is an error, instead of one that is grey where bits are missing. */
    if (!frame || av.opt_set(context, "err_detect", "explode", 0) < 0 ||
        av.open(context, av.decoder, NULL) < 0 || av.send_packet(context, packet) < 0 ||
        av.send_packet(context, NULL) < 0 || av.receive_frame(context, frame) < 0 ||
        frame->format != AV_PIX_FMT_YUVJ420P)
        av.frame_free(&frame);
    return frame;
}

bool softva_jpeg_decode(const uint8_t *file, size_t size, struct softva_jpeg_picture *picture)
{
    struct packet *packet;
    struct frame *frame = NULL;
    void *context;

    if (!softva_jpeg_available() || size > INT_MAX / 2)
        return false;
    packet = av.packet_alloc();
    context = av.alloc_context(av.decoder);
    if (packet && context && av.new_packet(packet, (int)size) == 0 && packet->size == (int)size) {
        memcpy(packet->data, file, size);
        frame = decode(context, packet);
    }
    av.free_context(&context);
    av.packet_free(&packet);
    if (!frame)
        return false;
    *picture = (struct softva_jpeg_picture){(uint32_t)frame->width, (uint32_t)frame->height,
                                            {frame->data[0], frame->data[1], frame->data[2]},
                                            {(size_t)frame->linesize[0], (size_t)frame->linesize[1],
                                             (size_t)frame->linesize[2]},
                                            frame};
    return true;
}

void softva_jpeg_free(struct softva_jpeg_picture *picture)
{
    struct frame *frame = picture->frame;

    av.frame_free(&frame);
}
