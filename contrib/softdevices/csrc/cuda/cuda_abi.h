/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUDA's driver API that this driver implements: types, numbers and structures as
 * NVIDIA's documentation of the driver API gives them. The tests compare the numbers with those of
 * the cuda-bindings package.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef uint64_t CUmemGenericAllocationHandle;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct external *CUexternalMemory;

/* CUresult */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_NOT_PERMITTED = 800,
    CUDA_ERROR_NOT_SUPPORTED = 801,
};

/* CUdevice_attribute */
enum {
    ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
    ATTRIBUTE_WARP_SIZE = 10,
    ATTRIBUTE_MAX_PITCH = 11,
    ATTRIBUTE_CLOCK_RATE = 13,
    ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
    ATTRIBUTE_GPU_OVERLAP = 15,
    ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
    ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
    ATTRIBUTE_PCI_BUS_ID = 33,
    ATTRIBUTE_PCI_DEVICE_ID = 34,
    ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
    ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    ATTRIBUTE_PCI_DOMAIN_ID = 50,
    ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT = 51,
    ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED = 78,
    ATTRIBUTE_MANAGED_MEMORY = 83,
    ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88,
    ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
    ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    ATTRIBUTE_HOST_REGISTER_SUPPORTED = 99,
    ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
    ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
    ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
    ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
    ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED = 116,
    ATTRIBUTE_DMA_BUF_SUPPORTED = 124,
    ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED = 152,
};

/* CUpointer_attribute */
enum {
    POINTER_CONTEXT = 1,
    POINTER_MEMORY_TYPE = 2,
    POINTER_DEVICE_POINTER = 3,
    POINTER_HOST_POINTER = 4,
    POINTER_SYNC_MEMOPS = 6,
    POINTER_BUFFER_ID = 7,
    POINTER_IS_MANAGED = 8,
    POINTER_DEVICE_ORDINAL = 9,
    POINTER_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
    POINTER_RANGE_START_ADDR = 11,
    POINTER_RANGE_SIZE = 12,
    POINTER_MAPPED = 13,
    POINTER_ALLOWED_HANDLE_TYPES = 14,
    POINTER_IS_GPU_DIRECT_RDMA_CAPABLE = 15,
    POINTER_ACCESS_FLAGS = 16,
    POINTER_MEMPOOL_HANDLE = 17,
};

/* CUmemorytype */
enum { MEMORYTYPE_HOST = 1, MEMORYTYPE_DEVICE = 2, MEMORYTYPE_UNIFIED = 4 };

/* CU_STREAM_*: the handles of the default streams, and a flag of cuStreamCreate. */
#define STREAM_LEGACY ((CUstream)0x1)
#define STREAM_PER_THREAD ((CUstream)0x2)
enum { STREAM_NON_BLOCKING = 1 };

/* CU_MEMHOSTREGISTER_* */
enum { MEMHOSTREGISTER_IOMEMORY = 4, MEMHOSTREGISTER_READ_ONLY = 8 };

/* CUmemAllocationType, CUmemLocationType, CUmemAllocationHandleType, CUmemAccess_flags */
enum { MEM_ALLOCATION_TYPE_PINNED = 1 };
enum { MEM_LOCATION_TYPE_DEVICE = 1, MEM_LOCATION_TYPE_HOST = 2 };
enum { MEM_HANDLE_TYPE_NONE = 0, MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1 };
enum { MEM_ACCESS_NONE = 0, MEM_ACCESS_READ = 1, MEM_ACCESS_READWRITE = 3 };

/* CUmemRangeHandleType, CUexternalMemoryHandleType */
enum { MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1 };
enum { EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD = 1, EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD = 9 };

typedef struct {
    char bytes[16];
} CUuuid;

typedef struct {
    size_t srcXInBytes;
    size_t srcY;
    int srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    int dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
} CUDA_MEMCPY2D;

typedef struct {
    int type;
    int id;
} CUmemLocation;

typedef struct {
    int type;
    int requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef struct {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

typedef struct {
    int type;
    union {
        int fd;
        struct {
            void *handle;
            const void *name;
        } win32;
        const void *nvSciBufObject;
    } handle;
    unsigned long long size;
    unsigned int flags;
    unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

typedef struct {
    unsigned long long offset;
    unsigned long long size;
    unsigned int flags;
    unsigned int reserved[16];
} CUDA_EXTERNAL_MEMORY_BUFFER_DESC;

typedef void (*CUhostFn)(void *data);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);
