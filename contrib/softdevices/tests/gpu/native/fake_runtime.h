/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime of OpenCL whose calls fail where a test wants it. Its objects are all of one kind. */
#ifndef FAKE_RUNTIME_H
#define FAKE_RUNTIME_H

#include <stdatomic.h>

#include "../../../csrc/gpu/layer.h"

/* Ends the program, and says where, if something is not right. */
void check(bool right, const char *what, const char *file, int line);

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

/* An object of the runtime: counts references, and calls back at the last. */
struct object {
    unsigned int references;
    cl_mem_flags flags;
    void(CL_CALLBACK *mem_gone)(cl_mem, void *);
    void(CL_CALLBACK *context_gone)(cl_context, void *);
    void *user;
    struct object *program;
};

extern const cl_icd_dispatch fake_runtime;
extern bool callbacks_fail, creation_fails;

/* The program of events that have ended, and what the last kernel waits for. */
extern struct object ended;
extern cl_uint last_waits;
extern cl_event last_wait_list[8];

/* The number of waits that ended by a callback. An event with flags has failed. */
extern atomic_uint slept;

cl_int CL_API_CALL release_mem(cl_mem handle);
cl_int CL_API_CALL release_context(cl_context handle);
cl_int CL_API_CALL release_event(cl_event event);

#endif
