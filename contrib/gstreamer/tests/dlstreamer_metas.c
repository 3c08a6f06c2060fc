/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metas of the names and layouts that DL Streamer's public headers give them, registered with
 * GStreamer as its library does. Built by test_dlstreamer.py, without GStreamer's headers: what
 * is needed of them is declared here.
 */
#include <stddef.h>

typedef size_t GType;
typedef struct GstStructure GstStructure;
typedef struct GstBuffer GstBuffer;
typedef struct GstMetaInfo GstMetaInfo;

/* gst/gstmeta.h */
typedef struct {
    int flags;
    const GstMetaInfo *info;
} GstMeta;

/* glib/glist.h */
typedef struct GList {
    void *data;
    struct GList *next;
    struct GList *prev;
} GList;

extern GType gst_meta_api_type_register(const char *api, const char **tags);
extern const GstMetaInfo *gst_meta_register(GType api, const char *impl, size_t size,
                                            int (*init)(GstMeta *, void *, GstBuffer *),
                                            void (*free)(GstMeta *, GstBuffer *), void *transform);
extern GstStructure *gst_structure_new_empty(const char *name);
extern void gst_structure_free(GstStructure *structure);
extern void g_free(void *memory);
extern void g_list_free_full(GList *list, void (*free)(void *));

/* include/dlstreamer/gst/metadata/gva_tensor_meta.h */
typedef struct {
    GstMeta meta;
    GstStructure *data;
} GstGVATensorMeta;

/* include/dlstreamer/gst/metadata/gva_json_meta.h */
typedef struct {
    GstMeta meta;
    char *message;
} GstGVAJSONMeta;

/* include/dlstreamer/gst/metadata/gva_audio_event_meta.h */
typedef struct {
    GstMeta meta;
    unsigned int event_type;
    int id;
    unsigned long start_timestamp;
    unsigned long end_timestamp;
    GList *params;
} GstGVAAudioEventMeta;

/* How many metas were freed, so that a test sees that none is leaked. */
int metas_freed;

static const char *no_tags[] = {NULL};

static int tensor_init(GstMeta *meta, void *params, GstBuffer *buffer) {
    (void)params;
    (void)buffer;
    ((GstGVATensorMeta *)meta)->data = gst_structure_new_empty("meta");
    return 1;
}

static void tensor_free(GstMeta *meta, GstBuffer *buffer) {
    (void)buffer;
    gst_structure_free(((GstGVATensorMeta *)meta)->data);
    metas_freed++;
}

static int json_init(GstMeta *meta, void *params, GstBuffer *buffer) {
    (void)params;
    (void)buffer;
    ((GstGVAJSONMeta *)meta)->message = NULL;
    return 1;
}

static void json_free(GstMeta *meta, GstBuffer *buffer) {
    (void)buffer;
    g_free(((GstGVAJSONMeta *)meta)->message);
    metas_freed++;
}

static int event_init(GstMeta *meta, void *params, GstBuffer *buffer) {
    GstGVAAudioEventMeta *event = (GstGVAAudioEventMeta *)meta;
    (void)params;
    (void)buffer;
    event->event_type = 0;
    event->id = 0;
    event->start_timestamp = 0;
    event->end_timestamp = 0;
    event->params = NULL;
    return 1;
}

static void structure_free(void *structure) {
    gst_structure_free(structure);
}

static void event_free(GstMeta *meta, GstBuffer *buffer) {
    (void)buffer;
    g_list_free_full(((GstGVAAudioEventMeta *)meta)->params, structure_free);
    metas_freed++;
}

const GstMetaInfo *gst_gva_tensor_meta_get_info(void) {
    static const GstMetaInfo *info;
    if (!info) {
        GType api = gst_meta_api_type_register("GstGVATensorMetaAPI", no_tags);
        info = gst_meta_register(api, "GstGVATensorMeta", sizeof(GstGVATensorMeta), tensor_init,
                                 tensor_free, NULL);
    }
    return info;
}

const GstMetaInfo *gst_gva_json_meta_get_info(void) {
    static const GstMetaInfo *info;
    if (!info) {
        GType api = gst_meta_api_type_register("GstGVAJSONMetaAPI", no_tags);
        info = gst_meta_register(api, "GstGVAJSONMeta", sizeof(GstGVAJSONMeta), json_init,
                                 json_free, NULL);
    }
    return info;
}

const GstMetaInfo *gst_gva_audio_event_meta_get_info(void) {
    static const GstMetaInfo *info;
    if (!info) {
        GType api = gst_meta_api_type_register("GstGVAAudioEventMetaAPI", no_tags);
        info = gst_meta_register(api, "GstGVAAudioEventMeta", sizeof(GstGVAAudioEventMeta),
                                 event_init, event_free, NULL);
    }
    return info;
}
