/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL functions that this layer has its own version of, by the module that holds them. */
#ifndef SOFTGPU_HOOKS_H
#define SOFTGPU_HOOKS_H

#include "layer.h"

typedef void(CL_CALLBACK *softgpu_context_notify)(const char *, const void *, size_t, void *);

/* device_identity.c: the CPU device says that it is a GPU. */
cl_int CL_API_CALL softgpu_get_device_ids(cl_platform_id platform, cl_device_type type,
                                          cl_uint count, cl_device_id *devices,
                                          cl_uint *devices_ret);
cl_int CL_API_CALL softgpu_get_device_info(cl_device_id device, cl_device_info name, size_t size,
                                           void *value, size_t *size_ret);
cl_int CL_API_CALL softgpu_get_platform_info(cl_platform_id platform, cl_platform_info name,
                                             size_t size, void *value, size_t *size_ret);
cl_device_type softgpu_type_below(cl_device_type type);

/* contexts.c: contexts that know their VA display. */
cl_context CL_API_CALL softgpu_create_context(const cl_context_properties *properties,
                                              cl_uint count, const cl_device_id *devices,
                                              softgpu_context_notify notify, void *user,
                                              cl_int *error);
cl_context CL_API_CALL softgpu_create_context_from_type(const cl_context_properties *properties,
                                                        cl_device_type type,
                                                        softgpu_context_notify notify, void *user,
                                                        cl_int *error);
cl_int CL_API_CALL softgpu_get_context_info(cl_context context, cl_context_info name, size_t size,
                                            void *value, size_t *size_ret);

/* shared_memory.c: memory objects over memory that came from elsewhere. */
cl_int CL_API_CALL softgpu_get_mem_object_info(cl_mem object, cl_mem_info name, size_t size,
                                               void *value, size_t *size_ret);
cl_int CL_API_CALL softgpu_get_image_info(cl_mem image, cl_image_info name, size_t size,
                                          void *value, size_t *size_ret);

/* host_pointers.c: buffers that the runtime would work on a copy of. */
cl_mem CL_API_CALL softgpu_create_buffer(cl_context context, cl_mem_flags flags, size_t size,
                                         void *host, cl_int *error);
cl_mem CL_API_CALL softgpu_create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                             cl_buffer_create_type type, const void *region,
                                             cl_int *error);

/* external_memory.c: cl_khr_external_memory_dma_buf. */
cl_mem CL_API_CALL softgpu_create_buffer_with_properties(cl_context context,
                                                         const cl_mem_properties *properties,
                                                         cl_mem_flags flags, size_t size,
                                                         void *host, cl_int *error);
cl_mem CL_API_CALL softgpu_create_image_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags,
                                                        const cl_image_format *format,
                                                        const cl_image_desc *description,
                                                        void *host, cl_int *error);
cl_int CL_API_CALL softgpu_acquire_external(cl_command_queue queue, cl_uint count,
                                            const cl_mem *objects, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_release_external(cl_command_queue queue, cl_uint count,
                                            const cl_mem *objects, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event);

/* va_sharing.c: cl_intel_va_api_media_sharing. */
cl_int CL_API_CALL softgpu_get_device_ids_from_va(cl_platform_id platform, cl_uint source,
                                                  void *display, cl_uint set, cl_uint count,
                                                  cl_device_id *devices, cl_uint *devices_ret);
cl_mem CL_API_CALL softgpu_create_from_va_surface(cl_context context, cl_mem_flags flags,
                                                  unsigned int *surface, cl_uint plane,
                                                  cl_int *error);
cl_int CL_API_CALL softgpu_acquire_va(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                      cl_uint waits, const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_release_va(cl_command_queue queue, cl_uint count, const cl_mem *objects,
                                      cl_uint waits, const cl_event *wait_list, cl_event *event);

/* program_lifetime.c: kernels keep their program. */
cl_kernel CL_API_CALL softgpu_create_kernel(cl_program program, const char *name, cl_int *error);
cl_int CL_API_CALL softgpu_create_kernels_in_program(cl_program program, cl_uint count,
                                                     cl_kernel *kernels, cl_uint *kernels_ret);
cl_kernel CL_API_CALL softgpu_clone_kernel(cl_kernel source, cl_int *error);
cl_int CL_API_CALL softgpu_release_kernel(cl_kernel kernel);

/* blocking_commands.c: blocking commands that wait as all do here. */
cl_int CL_API_CALL softgpu_read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                       size_t offset, size_t size, void *target, cl_uint waits,
                                       const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_read_buffer_rect(cl_command_queue queue, cl_mem buffer,
                                            cl_bool blocking, const size_t *buffer_origin,
                                            const size_t *host_origin, const size_t *region,
                                            size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch,
                                            void *target, cl_uint waits,
                                            const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t *origin, const size_t *region, size_t row_pitch,
                                      size_t slice_pitch, void *target, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event);
void *CL_API_CALL softgpu_map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                                     const cl_event *wait_list, cl_event *event, cl_int *error);
void *CL_API_CALL softgpu_map_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t *origin,
                                    const size_t *region, size_t *row_pitch, size_t *slice_pitch,
                                    cl_uint waits, const cl_event *wait_list, cl_event *event,
                                    cl_int *error);
cl_int CL_API_CALL softgpu_svm_memcpy(cl_command_queue queue, cl_bool blocking, void *target,
                                      const void *source, size_t size, cl_uint waits,
                                      const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                   void *memory, size_t size, cl_uint waits,
                                   const cl_event *wait_list, cl_event *event);

/* The layer's own version of an extension's function that waits, over the runtime's; other functions
 * as they are. */
void *softgpu_blocking_extension(const char *name, void *below);

/* blocking_writes.c: blocking writes end when the data is there. */
void softgpu_blocking_writes_init(void);
cl_int CL_API_CALL softgpu_write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void *source,
                                        cl_uint waits, const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_write_buffer_rect(cl_command_queue queue, cl_mem buffer,
                                             cl_bool blocking, const size_t *buffer_origin,
                                             const size_t *host_origin, const size_t *region,
                                             size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                             size_t host_row_pitch, size_t host_slice_pitch,
                                             const void *source, cl_uint waits,
                                             const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_write_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                       const size_t *origin, const size_t *region,
                                       size_t row_pitch, size_t slice_pitch, const void *source,
                                       cl_uint waits, const cl_event *wait_list, cl_event *event);

/* waits.c: threads that wait sleep meanwhile. */
cl_int CL_API_CALL softgpu_wait_for_events(cl_uint count, const cl_event *events);

/* event_order.c: the event of a kernel comes after the kernels before it. */
cl_int CL_API_CALL softgpu_enqueue_kernel(cl_command_queue queue, cl_kernel kernel,
                                          cl_uint dimensions, const size_t *offset,
                                          const size_t *global_size, const size_t *local_size,
                                          cl_uint waits, const cl_event *wait_list,
                                          cl_event *event);
cl_int CL_API_CALL softgpu_enqueue_barrier(cl_command_queue queue, cl_uint waits,
                                           const cl_event *wait_list, cl_event *event);
cl_int CL_API_CALL softgpu_finish(cl_command_queue queue);
cl_int CL_API_CALL softgpu_release_queue(cl_command_queue queue);

#endif
