/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software CUDA driver without cuda-bindings, for sanitizers and valgrind: everything that it
 * makes is used and ended in more than one order, and by many threads. With the argument "forks", a
 * process that forks while its threads use the driver. Prints "done" if all was as expected.
 */
#define _GNU_SOURCE
#include "../../../csrc/cuda/cuda_abi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 40, BYTES = 1 << 16, CHILDREN = 100, SECONDS_OF_A_CHILD = 20 };
enum { VMM_STEP = 2 << 20 };

CUresult cuInit(unsigned flags);
CUresult cuDeviceGetCount(int *count);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size);
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags);
CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemFreeHost(void *address);
CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags);
CUresult cuMemHostUnregister(void *address);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *address, unsigned flags);
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream);
CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data);
CUresult cuEventCreate(CUevent *event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent first, CUevent second);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned count, int *attributes, void **data, CUdeviceptr address);
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, size_t size);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *properties, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, size_t size);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                        size_t count);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address);
CUresult cuMemExportToShareableHandle(void *shared, CUmemGenericAllocationHandle handle, int type,
                                      unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shared,
                                        int type);
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size, int type,
                                       unsigned long long flags);
CUresult cuImportExternalMemory(CUexternalMemory *memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description);
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *description);
CUresult cuDestroyExternalMemory(CUexternalMemory memory);
unsigned softcuda_live(const char *kind);

#define EXPECT(wanted, call) expect(wanted, call, #call, __LINE__)
#define OK(call) EXPECT(CUDA_SUCCESS, call)
#define CHECK(truth) expect(1, (truth) != 0, #truth, __LINE__)

static void expect(int wanted, int found, const char *what, int line)
{
    if (wanted == found)
        return;
    fprintf(stderr, "line %d: %s gave %d, not %d\n", line, what, found, wanted);
    _exit(1);
}

static CUcontext primary;

static CUstream new_stream(void)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    return stream;
}

static void order(CUstream first, CUstream second)
{
    CUevent event;
    OK(cuEventCreate(&event, 2));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventDestroy_v2(event)); /* before it has happened */
}

static void nap(void *microseconds)
{
    usleep((useconds_t)(uintptr_t)microseconds);
}

static void check_all(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++)
        CHECK(bytes[i] == value);
}

/* Memory of each kind, and addresses that are none of its. */
static void check_memory(void)
{
    CUdeviceptr device, managed, base, there;
    unsigned char *pinned, data[256];
    size_t size, total;
    unsigned type = 0, is_managed = 9;
    void *answers[] = {&type, &is_managed};
    int asked[] = {POINTER_MEMORY_TYPE, POINTER_IS_MANAGED};

    OK(cuMemAlloc_v2(&device, BYTES));
    OK(cuMemAllocManaged(&managed, BYTES, 1));
    OK(cuMemHostAlloc((void **)&pinned, BYTES, 1));
    OK(cuMemGetAddressRange_v2(&base, &size, device + 100));
    CHECK(base == device && size == BYTES);
    OK(cuMemGetInfo_v2(&size, &total));
    CHECK(size < total);
    OK(cuPointerGetAttributes(2, asked, answers, managed));
    CHECK(type == MEMORYTYPE_DEVICE && is_managed == 1);
    OK(cuPointerGetAttributes(2, asked, answers, (uintptr_t)pinned));
    CHECK(type == MEMORYTYPE_HOST && is_managed == 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, 4096));
    memset(pinned, 7, BYTES);
    OK(cuMemcpyHtoDAsync_v2(device, pinned, BYTES, STREAM_LEGACY));
    OK(cuMemcpyDtoDAsync_v2(managed, device, BYTES, STREAM_LEGACY));
    OK(cuMemsetD2D8Async(managed, 512, 9, 256, BYTES / 512, STREAM_LEGACY));
    OK(cuCtxSynchronize());
    check_all((unsigned char *)managed, 256, 9);
    check_all((unsigned char *)managed + 256, 256, 7);
    OK(cuMemcpy2D_v2(&(CUDA_MEMCPY2D){
        .srcMemoryType = MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = 512,
        .dstMemoryType = MEMORYTYPE_HOST, .dstHost = data, .dstPitch = 16,
        .WidthInBytes = 16, .Height = 16}));
    check_all(data, sizeof data, 7);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(data, device + BYTES - 8, 16));
    EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&there, (size_t)1 << 50));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(device + 8));
    OK(cuMemFree_v2(device));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(device));
    OK(cuMemFree_v2(managed));
    OK(cuMemFreeHost(pinned));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
}

static void check_registration(void)
{
    unsigned char *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr there;

    CHECK(pages != MAP_FAILED);
    OK(cuMemHostRegister_v2(pages, BYTES, 1));
    EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(pages, BYTES, 1));
    OK(cuMemHostGetDevicePointer_v2(&there, pages, 0));
    OK(cuMemsetD8Async(there, 5, BYTES, STREAM_LEGACY));
    OK(cuCtxSynchronize());
    check_all(pages, BYTES, 5);
    OK(cuMemHostUnregister(pages));
    EXPECT(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(pages));
    munmap(pages, BYTES);
}

static CUdeviceptr mapped(CUmemGenericAllocationHandle handle)
{
    const CUmemAccessDesc access = {{MEM_LOCATION_TYPE_DEVICE, 0}, MEM_ACCESS_READWRITE};
    CUdeviceptr address;

    OK(cuMemAddressReserve(&address, VMM_STEP, VMM_STEP, 0, 0));
    OK(cuMemMap(address, VMM_STEP, 0, handle, 0));
    OK(cuMemSetAccess(address, VMM_STEP, &access, 1));
    return address;
}

static void unmap(CUdeviceptr address)
{
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, VMM_STEP)); /* still mapped */
    OK(cuMemUnmap(address, VMM_STEP));
    OK(cuMemAddressFree(address, VMM_STEP));
}

/* Two mappings of one allocation, the second through a descriptor; what goes first does not matter. */
static void check_sharing(int round)
{
    const CUmemAllocationProp how = {
        .type = MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {MEM_LOCATION_TYPE_DEVICE, 0},
    };
    CUmemGenericAllocationHandle handle, again, retained;
    CUdeviceptr first, second;
    unsigned char data[64];
    int fd;

    OK(cuMemCreate(&handle, VMM_STEP, &how, 0));
    OK(cuMemExportToShareableHandle(&fd, handle, MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd,
                                      MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    first = mapped(handle);
    if (round % 2) {
        close(fd);
        OK(cuMemRelease(handle));
    }
    second = mapped(again);
    OK(cuMemsetD8Async(first, 3, VMM_STEP, STREAM_LEGACY));
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(data, second + VMM_STEP - sizeof data, sizeof data));
    check_all(data, sizeof data, 3);
    OK(cuMemRetainAllocationHandle(&retained, (void *)second));
    OK(cuMemRelease(retained));
    unmap(round % 3 ? first : second);
    unmap(round % 3 ? second : first);
    OK(cuMemRelease(again));
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemRelease(again));
    if (!(round % 2)) {
        close(fd);
        OK(cuMemRelease(handle));
    }
}

/* A DMA-BUF out, and a descriptor in, whose memory outlives what it came from. */
static void check_descriptors(void)
{
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from = {.type = EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {.offset = 4096, .size = BYTES - 4096};
    unsigned char data[64];
    CUexternalMemory memory;
    CUdeviceptr device, there;
    int fd;

    OK(cuMemAlloc_v2(&device, BYTES));
    EXPECT(CUDA_ERROR_INVALID_VALUE,
           cuMemGetHandleForAddressRange(&fd, device, 100, MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    OK(cuMemGetHandleForAddressRange(&fd, device, BYTES, MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    from.handle.fd = fd;
    from.size = 2 * BYTES;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuImportExternalMemory(&memory, &from));
    from.size = BYTES;
    OK(cuImportExternalMemory(&memory, &from));
    close(fd);
    OK(cuExternalMemoryGetMappedBuffer(&there, memory, &part));
    part.size = BYTES;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&device, memory, &part));
    OK(cuMemsetD8Async(device + 4096, 8, 64, STREAM_LEGACY));
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(device));
    OK(cuDestroyExternalMemory(memory));
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuDestroyExternalMemory(memory));
    OK(cuMemcpyDtoH_v2(data, there, sizeof data));
    check_all(data, sizeof data, 8);
    OK(cuMemFree_v2(there));
}

static void call_inside(void *result)
{
    CUdeviceptr address;
    *(CUresult *)result = cuMemAlloc_v2(&address, 16);
}

static void count(CUstream stream, CUresult status, void *data)
{
    (void)stream;
    CHECK(status == CUDA_SUCCESS);
    atomic_fetch_add((atomic_int *)data, 1);
}

/* What one thread does: streams that wait for each other, ended busy and idle. */
static void work_once(int round)
{
    CUstream one = new_stream(), other = new_stream();
    CUresult inside = CUDA_SUCCESS;
    atomic_int calls = 0;
    CUevent begin, end;
    unsigned char *data;
    CUdeviceptr device;
    float took;

    OK(cuMemAlloc_v2(&device, BYTES));
    OK(cuMemHostAlloc((void **)&data, BYTES, 1));
    OK(cuEventCreate(&begin, 0));
    OK(cuEventCreate(&end, 0));
    OK(cuEventRecord(begin, one));
    OK(cuLaunchHostFunc(one, nap, (void *)(uintptr_t)(round % 3 * 300)));
    OK(cuMemsetD8Async(device, (unsigned char)round, BYTES, one));
    order(one, other);
    OK(cuMemcpyDtoHAsync_v2(data, device, BYTES, other));
    OK(cuEventRecord(end, other));
    OK(cuLaunchHostFunc(other, call_inside, &inside));
    OK(cuStreamAddCallback(other, count, &calls, 0));
    if (round % 2) /* busy: what it has to do is done all the same */
        OK(cuStreamDestroy_v2(one));
    OK(cuStreamSynchronize(other));
    check_all(data, BYTES, (unsigned char)round);
    CHECK(inside == CUDA_ERROR_NOT_PERMITTED && calls == 1);
    OK(cuStreamQuery(other));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&took, begin, end));
    CHECK(took >= 0);
    OK(cuEventDestroy_v2(begin));
    if (!(round % 2))
        OK(cuStreamDestroy_v2(one));
    OK(cuStreamDestroy_v2(other));
    OK(cuEventDestroy_v2(end));
    OK(cuMemFree_v2(device));
    OK(cuMemFreeHost(data));
}

static void *work(void *unused)
{
    (void)unused;
    OK(cuCtxPushCurrent_v2(primary));
    for (int round = 0; round < ROUNDS; round++) {
        work_once(round);
        if (round % 8 == 0)
            check_sharing(round / 8);
    }
    OK(cuCtxPopCurrent_v2(NULL));
    return NULL;
}

/* A context that is destroyed takes its streams, events and memory along. */
static void *end_contexts(void *unused)
{
    CUcontext context, popped;
    CUdeviceptr device;
    CUevent event;

    (void)unused;
    for (int round = 0; round < ROUNDS / 4; round++) {
        OK(cuCtxCreate_v2(&context, 0, 1));
        CUstream stream = new_stream();
        OK(cuMemAlloc_v2(&device, BYTES));
        OK(cuEventCreate(&event, 0));
        OK(cuLaunchHostFunc(stream, nap, (void *)(uintptr_t)500));
        OK(cuMemsetD8Async(device, 1, BYTES, stream));
        OK(cuEventRecord(event, stream));
        OK(cuCtxPopCurrent_v2(&popped));
        CHECK(popped == context);
        OK(cuCtxDestroy_v2(context));
        EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(context));
    }
    return NULL;
}

/*
 * Memory that is freed while a stream still uses it: the context fails, and nothing else does. A
 * driver that waits where it frees has no such trouble.
 */
static void check_early_free(void)
{
    const char *waits = getenv("SOFTCUDA_WAITS");
    bool is_early = !waits || strcmp(waits, "1") != 0;
    CUcontext context;
    CUdeviceptr device;

    OK(cuCtxCreate_v2(&context, 0, 0));
    CUstream stream = new_stream();
    OK(cuMemAlloc_v2(&device, BYTES));
    OK(cuLaunchHostFunc(stream, nap, (void *)(uintptr_t)20000));
    OK(cuMemsetD8Async(device, 1, BYTES, stream));
    OK(cuMemFree_v2(device));
    EXPECT(is_early ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS, cuStreamSynchronize(stream));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuCtxDestroy_v2(context));
}

static void check_forks(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        int status;

        CHECK(child >= 0);
        if (!child) {
            CUdeviceptr device;
            int number;

            alarm(SECONDS_OF_A_CHILD); /* a lock that nobody gives back */
            EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&number));
            EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&device, 16));
            EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuCtxPushCurrent_v2(primary));
            EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(int count_of, char **arguments)
{
    static const char *const kinds[] = {"device", "pinned", "managed", "registered", "vmm",
                                        "external", "stream", "event"};
    pthread_t threads[THREADS + 1];
    int devices;

    setenv("SOFTCUDA_DMA_BUF_IMPORT", "1", 1);
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&devices));
    OK(cuInit(0));
    OK(cuDeviceGetCount(&devices));
    CHECK(devices == 2);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    if (count_of > 1 && strcmp(arguments[1], "forks") == 0) {
        check_forks();
        puts("done");
        return 0;
    }
    OK(cuCtxPushCurrent_v2(primary));
    check_memory();
    check_registration();
    check_descriptors();
    check_early_free();
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    CHECK(pthread_create(&threads[THREADS], NULL, end_contexts, NULL) == 0);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        CHECK(softcuda_live(kinds[i]) == 0);
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    CHECK(softcuda_live("context") == 0);
    puts("done");
    return 0;
}
