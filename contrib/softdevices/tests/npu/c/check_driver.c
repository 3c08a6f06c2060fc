/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver without a loader and without OpenVINO, for sanitizers and valgrind: everything that it
 * makes is destroyed in more than one order, and by many threads. Exits 0 if all was as expected.
 */
#define _GNU_SOURCE
#include "../../../csrc/npu/graph_abi.h"
#include "../../../csrc/npu/newer_abi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 50
#define FOR_EVER UINT64_MAX

/* Of the structures in ze_graph_ext.h, for 64 bits. */
_Static_assert(sizeof(struct graph_device_properties) == 56, "ze_device_graph_properties_2_t");
_Static_assert(sizeof(struct graph_descriptor) == 56, "ze_graph_desc_2_t");
_Static_assert(sizeof(struct graph_properties) == 32, "ze_graph_properties_3_t");
_Static_assert(sizeof(struct graph_argument_properties) == 8776,
               "ze_graph_argument_properties_3_t");
_Static_assert(sizeof(struct graph_argument_metadata) == 8800, "ze_graph_argument_metadata_t");
_Static_assert(sizeof(struct graph_property_strides) == 24, "ze_graph_argument_property_strides_t");
_Static_assert(sizeof(struct graph_value_tensor) == 24, "ze_graph_argument_value_tensor_t");
_Static_assert(sizeof(struct graph_value_strides) == 40, "ze_graph_argument_value_strides_t");
_Static_assert(sizeof(struct graph_profiling_properties) == 24,
               "ze_device_profiling_data_properties_t");
_Static_assert(sizeof(struct graph_profiling_layer) == 368, "ze_profiling_layer_info");
_Static_assert(sizeof(struct graph_memory) == 16, "ze_graph_memory_query_t");

#define EXPECT(result, call) expect(result, call, #call, __LINE__)

static void expect(ze_result_t wanted, ze_result_t found, const char *call, int line)
{
    if (wanted == found)
        return;
    fprintf(stderr, "line %d: %s gave 0x%x, not 0x%x\n", line, call, found, wanted);
    exit(1);
}

static ze_driver_handle_t driver;
static ze_device_handle_t device;

static ze_context_handle_t new_context(void)
{
    const ze_context_desc_t descriptor = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ze_context_handle_t context;
    EXPECT(ZE_RESULT_SUCCESS, zeContextCreate(driver, &descriptor, &context));
    return context;
}

static char *allocate(ze_context_handle_t context, const void *next, size_t size)
{
    const ze_host_mem_alloc_desc_t descriptor = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
                                                 .pNext = next};
    void *pointer;
    EXPECT(ZE_RESULT_SUCCESS, zeMemAllocHost(context, &descriptor, size, 0, &pointer));
    return pointer;
}

static void check_memory(ze_context_handle_t context)
{
    const ze_external_memory_export_desc_t exported = {
        .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC,
        .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
    ze_external_memory_export_fd_t fd = {.stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
                                         .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF};
    ze_memory_allocation_properties_t properties = {
        .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES, .pNext = &fd};
    char *memory = allocate(context, &exported, 5000);
    EXPECT(ZE_RESULT_SUCCESS, zeMemGetAllocProperties(context, memory, &properties, NULL));
    const ze_external_memory_import_fd_t import = {
        .stype = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
        .flags = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF,
        .fd = fd.fd};
    char *imported = allocate(context, &import, 1);
    close(fd.fd);
    memory[8191] = 'x';
    EXPECT('x', imported[8191]);
    EXPECT(ZE_RESULT_SUCCESS, zeMemFree(context, memory));
    EXPECT('x', imported[8191]);
    /* `imported` is left to the end of the context. */

    char *host = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct softnpu_memmap_sysmem sysmem = {SOFTNPU_STYPE_MEMMAP_SYSMEM, NULL, host, 8192};
    EXPECT(1, allocate(context, &sysmem, 8192) == host);
    EXPECT(ZE_RESULT_SUCCESS, zeMemFree(context, host));
    host[0] = 'y';
    munmap(host, 8192);
}

struct objects {
    ze_command_queue_handle_t queue;
    ze_command_list_handle_t list;
    ze_event_pool_handle_t pool;
    ze_event_handle_t event;
    ze_fence_handle_t fence;
};

static struct objects new_objects(ze_context_handle_t context)
{
    const ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    const ze_command_list_desc_t list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    const ze_event_pool_desc_t pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    const ze_event_desc_t event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    const ze_fence_desc_t fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    struct objects made;
    EXPECT(ZE_RESULT_SUCCESS, zeCommandQueueCreate(context, device, &queue, &made.queue));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListCreate(context, device, &list, &made.list));
    EXPECT(ZE_RESULT_SUCCESS, zeEventPoolCreate(context, &pool, 0, NULL, &made.pool));
    EXPECT(ZE_RESULT_SUCCESS, zeEventCreate(made.pool, &event, &made.event));
    EXPECT(ZE_RESULT_SUCCESS, zeFenceCreate(made.queue, &fence, &made.fence));
    return made;
}

static void record_and_submit(const struct objects *objects, char *memory)
{
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListAppendMemoryFill(objects->list, memory, "abcd", 4, 2048,
                                                            NULL, 0, NULL));
    EXPECT(ZE_RESULT_SUCCESS,
           zeCommandListAppendMemoryCopy(objects->list, memory + 2048, memory, 2048, objects->event,
                                         0, NULL));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListAppendBarrier(objects->list, NULL, 1,
                                                         (ze_event_handle_t *)&objects->event));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListClose(objects->list));
    EXPECT(ZE_RESULT_SUCCESS,
           zeCommandQueueExecuteCommandLists(objects->queue, 1,
                                             (ze_command_list_handle_t *)&objects->list,
                                             objects->fence));
}

static void destroy(const struct objects *objects)
{
    EXPECT(ZE_RESULT_SUCCESS, zeEventDestroy(objects->event));
    EXPECT(ZE_RESULT_SUCCESS, zeEventPoolDestroy(objects->pool));
    EXPECT(ZE_RESULT_SUCCESS, zeFenceDestroy(objects->fence));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListDestroy(objects->list));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandQueueDestroy(objects->queue));
}

/* Everything goes while the submission has not begun (SOFTNPU_DELAY_US), the context first. */
static void check_destruction_at_once(void)
{
    ze_context_handle_t context = new_context();
    struct objects objects = new_objects(context);
    char *memory = allocate(context, NULL, 4096);
    record_and_submit(&objects, memory);
    EXPECT(ZE_RESULT_SUCCESS, zeMemFree(context, memory));
    EXPECT(ZE_RESULT_SUCCESS, zeContextDestroy(context));
    destroy(&objects);
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeContextDestroy(context));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeFenceQueryStatus(objects.fence));
}

static void check_immediate_list(ze_context_handle_t context)
{
    const ze_command_queue_desc_t descriptor = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                                .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t list;
    char *memory = allocate(context, NULL, 4096);
    EXPECT(ZE_RESULT_SUCCESS,
           zeCommandListCreateImmediate(context, device, &descriptor, &list));
    EXPECT(ZE_RESULT_SUCCESS,
           zeCommandListAppendMemoryFill(list, memory, "z", 1, 4096, NULL, 0, NULL));
    EXPECT(ZE_RESULT_SUCCESS, softnpu_list_host_synchronize(list, FOR_EVER));
    EXPECT('z', memory[4095]);
    /* Another that nobody waits for. */
    EXPECT(ZE_RESULT_SUCCESS,
           zeCommandListAppendMemoryFill(list, memory, "y", 1, 4096, NULL, 0, NULL));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListDestroy(list));
    EXPECT('y', memory[0]);
    EXPECT(ZE_RESULT_SUCCESS, zeMemFree(context, memory));
}

/* A wait that is never answered must not keep the queue from being destroyed. */
static void check_unanswered_wait(ze_context_handle_t context)
{
    struct objects objects = new_objects(context);
    EXPECT(ZE_RESULT_SUCCESS,
           zeCommandListAppendWaitOnEvents(objects.list, 1, &objects.event));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListClose(objects.list));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandQueueExecuteCommandLists(objects.queue, 1, &objects.list,
                                                                objects.fence));
    EXPECT(ZE_RESULT_NOT_READY, zeFenceHostSynchronize(objects.fence, 1000));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandQueueDestroy(objects.queue));
    EXPECT(ZE_RESULT_ERROR_DEVICE_LOST, zeFenceHostSynchronize(objects.fence, FOR_EVER));
    EXPECT(ZE_RESULT_SUCCESS, zeEventDestroy(objects.event));
    EXPECT(ZE_RESULT_SUCCESS, zeEventPoolDestroy(objects.pool));
    EXPECT(ZE_RESULT_SUCCESS, zeFenceDestroy(objects.fence));
    EXPECT(ZE_RESULT_SUCCESS, zeCommandListDestroy(objects.list));
}

typedef ze_result_t (*create_graph)(ze_context_handle_t, ze_device_handle_t,
                                    const struct graph_descriptor *, void **, void **);
typedef ze_result_t (*log_text)(void *, uint32_t *, char *);
typedef ze_result_t (*log_destroy)(void *);

/* Invalid models: the extension says why, and nothing stays. */
static void check_bad_graphs(ze_context_handle_t context)
{
    enum { CREATE_3 = 25, LOG_TEXT = 27, LOG_DESTROY = 28 }; /* in ze_graph_dditable_ext_t */
    static const uint8_t nonsense[] = "this is not a model at all";
    void **table, *graph = NULL, *log = NULL;
    EXPECT(ZE_RESULT_SUCCESS,
           zeDriverGetExtensionFunctionAddress(driver, "ZE_extension_graph_1_12", (void **)&table));
    for (uint32_t format = GRAPH_FORMAT_NATIVE; format <= GRAPH_FORMAT_IR; format++) {
        const struct graph_descriptor descriptor = {
            .format = format, .input = nonsense, .input_size = sizeof nonsense};
        char text[256];
        uint32_t size = sizeof text;
        EXPECT(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY,
               ((create_graph)table[CREATE_3])(context, device, &descriptor, &graph, &log));
        EXPECT(ZE_RESULT_SUCCESS, ((log_text)table[LOG_TEXT])(log, &size, text));
        EXPECT(size - 1, (ze_result_t)strlen(text));
        EXPECT(1, size > 10);
        EXPECT(ZE_RESULT_SUCCESS, ((log_destroy)table[LOG_DESTROY])(log));
        EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT, ((log_destroy)table[LOG_DESTROY])(log));
    }
}

/* Tables have the length of the loader's version: an old one must not be written beyond its end. */
static void check_tables(void)
{
    const void *table[64];
    const int old = ZE_MAKE_VERSION(1, 4), newer = ZE_MAKE_VERSION(1, 10);
    memset(table, 0, sizeof table);
    EXPECT(ZE_RESULT_SUCCESS, zeGetCommandListProcAddrTable(old, (void *)table));
    EXPECT(1, table[SOFTNPU_LIST_HOST_SYNCHRONIZE] == NULL);
    EXPECT(1, table[SOFTNPU_LIST_HOST_SYNCHRONIZE - 1] == NULL); /* images are left out */
    EXPECT(ZE_RESULT_SUCCESS, zeGetCommandListProcAddrTable(newer, (void *)table));
    EXPECT(1, table[SOFTNPU_LIST_HOST_SYNCHRONIZE] == (void *)softnpu_list_host_synchronize);
    memset(table, 0, sizeof table);
    EXPECT(ZE_RESULT_SUCCESS, zeGetGlobalProcAddrTable(old, (void *)table));
    EXPECT(1, table[0] == (void *)zeInit && table[SOFTNPU_GLOBAL_INIT_DRIVERS] == NULL);
    EXPECT(ZE_RESULT_SUCCESS, zeGetGlobalProcAddrTable(newer, (void *)table));
    EXPECT(1, table[SOFTNPU_GLOBAL_INIT_DRIVERS] == (void *)softnpu_init_drivers);
    memset(table, 0, sizeof table);
    EXPECT(ZE_RESULT_SUCCESS, zeGetDeviceProcAddrTable(newer, (void *)table));
    EXPECT(1, table[SOFTNPU_DEVICE_GET_REQUIREMENTS] == NULL);
    EXPECT(ZE_RESULT_SUCCESS,
           zeGetDeviceProcAddrTable(ZE_MAKE_VERSION(1, 16), (void *)table));
    EXPECT(1, table[SOFTNPU_DEVICE_GET_REQUIREMENTS] == (void *)softnpu_get_runtime_requirements);
    EXPECT(1, table[SOFTNPU_DEVICE_VALIDATE_REQUIREMENTS] ==
                  (void *)softnpu_validate_runtime_requirements);
    EXPECT(ZE_RESULT_ERROR_UNSUPPORTED_VERSION,
           zeGetGlobalProcAddrTable(ZE_MAKE_VERSION(2, 0), (void *)table));
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER, zeGetGlobalProcAddrTable(old, NULL));
}

/* Without a graph: what is asked of the device alone, and what is refused. */
static void check_requirements(void)
{
    const struct softnpu_requirements_of_graph module = {.stype = 0x00020044};
    const struct softnpu_requirements_of_graph graph = {
        .stype = SOFTNPU_STYPE_REQUIREMENTS_OF_GRAPH, .graph = &module};
    struct softnpu_requirements_result found = {.result = 9};
    const char *key;
    size_t size = 0;
    EXPECT(ZE_RESULT_SUCCESS, softnpu_get_runtime_requirements_key(device, &key));
    EXPECT(0, strcmp(key, "softnpu"));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           softnpu_get_runtime_requirements(device, &module, &size, NULL));
    EXPECT(ZE_RESULT_ERROR_INVALID_ARGUMENT,
           softnpu_get_runtime_requirements(device, &graph, &size, NULL));
    EXPECT(ZE_RESULT_SUCCESS, softnpu_validate_runtime_requirements(device, "garbage", &found));
    EXPECT(0, found.result);
    EXPECT(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
           softnpu_validate_runtime_requirements(device, NULL, &found));
}

static void *work(void *shared)
{
    ze_context_handle_t context = shared;
    for (int round = 0; round < ROUNDS; round++) {
        struct objects objects = new_objects(context);
        char *memory = allocate(context, NULL, 4096);
        check_memory(context);
        record_and_submit(&objects, memory);
        EXPECT(ZE_RESULT_SUCCESS, zeFenceHostSynchronize(objects.fence, FOR_EVER));
        EXPECT(ZE_RESULT_SUCCESS, zeEventHostSynchronize(objects.event, FOR_EVER));
        EXPECT(0, memcmp(memory + 4092, "abcd", 4));
        EXPECT(ZE_RESULT_SUCCESS, zeMemFree(context, memory));
        destroy(&objects);
    }
    return NULL;
}

int main(void)
{
    uint32_t count = 1;
    EXPECT(ZE_RESULT_SUCCESS, zeInit(0));
    EXPECT(ZE_RESULT_SUCCESS, zeDriverGet(&count, &driver));
    EXPECT(ZE_RESULT_SUCCESS, zeDeviceGet(driver, &count, &device));

    check_tables();
    check_requirements();
    ze_context_handle_t context = new_context();
    check_destruction_at_once();
    check_immediate_list(context);
    check_unanswered_wait(context);
    check_bad_graphs(context);

    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, context);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    EXPECT(ZE_RESULT_SUCCESS, zeContextDestroy(context));

    /* Left behind on purpose: the end of the process must cope with a queue that works. */
    context = new_context();
    struct objects objects = new_objects(context);
    record_and_submit(&objects, allocate(context, NULL, 4096));
    puts("done");
    return 0;
}
