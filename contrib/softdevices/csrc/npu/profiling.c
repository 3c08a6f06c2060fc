/* SPDX-License-Identifier: Apache-2.0 */
#include "profiling.h"

#include "device.h"
#include "graph_abi.h"
#include "trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXTENSION_VERSION ZE_MAKE_VERSION(1, 0)
#define LAYER_LEVEL 1u /* ze_graph_profiling_type_t: ZE_GRAPH_PROFILING_LAYER_LEVEL */

struct profiling_pool {
    struct object object;
    struct graph *graph;
    uint32_t count;
};

struct profiling_query {
    struct object object;
    struct graph *graph;
    pthread_mutex_t mutex; /* of what follows */
    struct graph_layers layers;
    bool is_filled;
};

/* ze_graph_handle_t, as in graph_extension.c. */
typedef struct graph *graph_handle;

static void release_pool(void *pointer)
{
    struct profiling_pool *pool = pointer;
    object_put(pool->graph);
    free(pool);
}

static void release_query(void *pointer)
{
    struct profiling_query *query = pointer;
    free(query->layers.items);
    pthread_mutex_destroy(&query->mutex);
    object_put(query->graph);
    free(query);
}

static void restart_query(void *pointer)
{
    pthread_mutex_init(&((struct profiling_query *)pointer)->mutex, NULL);
}

static ze_result_t pool_create(graph_handle handle, uint32_t count, struct profiling_pool **out)
{
    HELD struct graph *graph = object_get(handle, OBJECT_GRAPH);
    if (!graph)
        return object_missing(handle);
    if (!out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (count == 0)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (!graph_has_counters(graph))
        return ZE_RESULT_ERROR_NOT_AVAILABLE; /* as Intel's NPU driver */
    struct profiling_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pool->graph = object_hold(graph);
    pool->count = count;
    object_publish(&pool->object, OBJECT_PROFILING_POOL, release_pool);
    *out = pool;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t pool_destroy(const void *handle)
{
    return object_retire(handle, OBJECT_PROFILING_POOL);
}

static ze_result_t query_create(const void *handle, uint32_t index, struct profiling_query **out)
{
    HELD struct profiling_pool *pool = object_get(handle, OBJECT_PROFILING_POOL);
    if (!pool)
        return object_missing(handle);
    if (!out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (index >= pool->count)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct profiling_query *query = calloc(1, sizeof *query);
    if (!query)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    query->graph = object_hold(pool->graph);
    restart_query(query);
    query->object.restart = restart_query;
    object_publish(&query->object, OBJECT_PROFILING_QUERY, release_query);
    *out = query;
    return ZE_RESULT_SUCCESS;
}

static ze_result_t query_destroy(const void *handle)
{
    return object_retire(handle, OBJECT_PROFILING_QUERY);
}

struct profiling_query *profiling_query_get(const void *handle, const struct graph *graph)
{
    struct profiling_query *query = object_get(handle, OBJECT_PROFILING_QUERY);
    if (query && query->graph != graph) {
        object_put(query);
        return NULL;
    }
    return query;
}

void profiling_query_fill(struct profiling_query *query, struct graph_layers layers)
{
    pthread_mutex_lock(&query->mutex);
    free(query->layers.items);
    query->layers = layers;
    query->is_filled = true;
    pthread_mutex_unlock(&query->mutex);
    trace("profiling query=%p layers=%zu", (void *)query, layers.count);
}

/* The mutex of the query is held. */
static ze_result_t give_layers(const struct profiling_query *query, uint32_t *size, void *out)
{
    const size_t needed = query->layers.count * sizeof *query->layers.items;
    if (!query->is_filled)
        return ZE_RESULT_NOT_READY;
    if (out && *size < needed)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    if (out && needed)
        memcpy(out, query->layers.items, needed);
    *size = (uint32_t)needed;
    return ZE_RESULT_SUCCESS;
}

/* Tasks and raw data are the hardware's own: there are none. */
static ze_result_t query_get_data(const void *handle, uint32_t type, uint32_t *size, uint8_t *out)
{
    HELD struct profiling_query *query = object_get(handle, OBJECT_PROFILING_QUERY);
    if (!query)
        return object_missing(handle);
    if (!size)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (type != LAYER_LEVEL)
        return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
    pthread_mutex_lock(&query->mutex);
    ze_result_t result = give_layers(query, size, out);
    pthread_mutex_unlock(&query->mutex);
    return result;
}

static ze_result_t get_properties(ze_device_handle_t handle,
                                  struct graph_profiling_properties *properties)
{
    HELD struct device *device = object_get(handle, OBJECT_DEVICE);
    if (!device)
        return object_missing(handle);
    if (!properties)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    properties->extension_version = EXTENSION_VERSION;
    return ZE_RESULT_SUCCESS;
}

/* ze_graph_profiling_dditable_ext_t, in the order of the header. */
static const void *const table[] = {
    (const void *)pool_create,    (const void *)pool_destroy,   (const void *)query_create,
    (const void *)query_destroy,  (const void *)query_get_data, (const void *)get_properties,
};

const void *profiling_extension_table(void)
{
    return table;
}
