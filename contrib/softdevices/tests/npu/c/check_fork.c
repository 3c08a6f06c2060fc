/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork() while threads use the driver and its device works: each child uses and destroys what it
 * inherited, and ends by exit(), which runs the handlers and destructors of the driver. Exits 0 if
 * every child did.
 */
#include <level_zero/ze_api.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 400
#define THREADS 3
#define SECONDS_OF_A_CHILD 20

#define EXPECT(call) expect(call, #call, __LINE__)

static void expect(ze_result_t found, const char *call, int line)
{
    if (found == ZE_RESULT_SUCCESS)
        return;
    fprintf(stderr, "line %d: %s gave 0x%x\n", line, call, found);
    _exit(1);
}

static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_command_queue_handle_t queue;
static ze_command_list_handle_t list;
static ze_event_pool_handle_t pool;
static ze_event_handle_t event;
static ze_fence_handle_t fence;
static char *memory;
static atomic_bool is_over;

static char *allocate(void)
{
    const ze_host_mem_alloc_desc_t descriptor = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *pointer;
    EXPECT(zeMemAllocHost(context, &descriptor, 4096, 0, &pointer));
    return pointer;
}

static void make_objects(void)
{
    const ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    const ze_command_queue_desc_t of_queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    const ze_command_list_desc_t of_list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    const ze_event_pool_desc_t of_pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = 1};
    const ze_event_desc_t of_event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    const ze_fence_desc_t of_fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_driver_handle_t driver;
    uint32_t count = 1;
    EXPECT(zeInit(0));
    EXPECT(zeDriverGet(&count, &driver));
    EXPECT(zeDeviceGet(driver, &count, &device));
    EXPECT(zeContextCreate(driver, &of_context, &context));
    EXPECT(zeCommandQueueCreate(context, device, &of_queue, &queue));
    EXPECT(zeCommandListCreate(context, device, &of_list, &list));
    EXPECT(zeEventPoolCreate(context, &of_pool, 0, NULL, &pool));
    EXPECT(zeEventCreate(pool, &of_event, &event));
    EXPECT(zeFenceCreate(queue, &of_fence, &fence));
    memory = allocate();
    EXPECT(zeCommandListAppendMemoryFill(list, memory, "abcd", 4, 4096, NULL, 0, NULL));
    EXPECT(zeCommandListAppendSignalEvent(list, event));
    EXPECT(zeCommandListClose(list));
}

/* Each call takes another of the driver's locks; the submissions keep the device busy. */
static void *work(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        EXPECT(zeMemFree(context, allocate()));
        EXPECT(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
        (void)zeFenceQueryStatus(fence);
        EXPECT(zeEventHostReset(event));
        (void)zeEventQueryStatus(event);
        EXPECT(zeCommandQueueSynchronize(queue, UINT64_MAX));
    }
    return NULL;
}

static void use_in_child(void)
{
    alarm(SECONDS_OF_A_CHILD); /* a lock that nobody gives back */
    EXPECT(zeMemFree(context, allocate()));
    EXPECT(zeEventHostReset(event));
    EXPECT(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    EXPECT(zeCommandQueueSynchronize(queue, UINT64_MAX));
    EXPECT(zeEventQueryStatus(event));
    if (memory[4095] != 'd')
        _exit(2);
    EXPECT(zeMemFree(context, memory));
    EXPECT(zeEventDestroy(event));
    EXPECT(zeEventPoolDestroy(pool));
    EXPECT(zeFenceDestroy(fence));
    EXPECT(zeCommandListDestroy(list));
    EXPECT(zeCommandQueueDestroy(queue));
    EXPECT(zeContextDestroy(context));
    exit(0);
}

/* Two submissions, of which the first waits for an event: the child's fences are not set by it. */
static void check_lost_work(void)
{
    const ze_command_list_desc_t of_list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    const ze_fence_desc_t of_fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_command_list_handle_t waits;
    ze_fence_handle_t fences[2];
    int status;
    EXPECT(zeCommandListCreate(context, device, &of_list, &waits));
    EXPECT(zeCommandListAppendWaitOnEvents(waits, 1, &event));
    EXPECT(zeCommandListClose(waits));
    for (int i = 0; i < 2; i++) {
        EXPECT(zeFenceCreate(queue, &of_fence, &fences[i]));
        EXPECT(zeCommandQueueExecuteCommandLists(queue, 1, i ? &list : &waits, fences[i]));
    }
    usleep(100000); /* the first one runs, or is about to: both must do */
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_OF_A_CHILD);
        for (int i = 0; i < 2; i++)
            if (zeFenceHostSynchronize(fences[i], UINT64_MAX) != ZE_RESULT_ERROR_DEVICE_LOST)
                _exit(1);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) {
        fprintf(stderr, "the child that waits for lost work ended with status 0x%x\n", status);
        exit(1);
    }
    EXPECT(zeEventHostSignal(event));
    for (int i = 0; i < 2; i++) {
        EXPECT(zeFenceHostSynchronize(fences[i], UINT64_MAX));
        EXPECT(zeFenceDestroy(fences[i]));
    }
    EXPECT(zeCommandListDestroy(waits));
}

int main(void)
{
    int bad = 0;
    make_objects();
    signal(SIGALRM, SIG_DFL);
    check_lost_work();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < CHILDREN && bad < 3; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            use_in_child();
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            fprintf(stderr, "child %d ended with status 0x%x\n", i, status);
            bad++;
        }
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (bad)
        return 1;
    puts("done");
    return 0;
}
