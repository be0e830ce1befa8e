/* Bounds of a thread's C stack.
 *
 * In:  the running thread.
 * Out: the lower half of its stack as two addresses (stacks grow downwards). */

#include "frame/c_stack.h"

#include <pthread.h>

_Thread_local StackBounds c_stack_bounds __attribute__((tls_model("initial-exec"))) = {NULL, NULL};

/* If the system does not say where the stack is: the half ends this far below the first call. */
static const size_t ASSUMED_HALF = 256 * 1024;

void c_stack_measure(void)
{
    char *here = __builtin_frame_address(0);
    c_stack_bounds = (StackBounds){here - 2 * ASSUMED_HALF, here - ASSUMED_HALF};
#ifdef __GLIBC__
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *low;
        size_t size;
        if (pthread_attr_getstack(&attributes, &low, &size) == 0 && here > (char *)low) {
            c_stack_bounds = (StackBounds){low, (char *)low + size / 2};
        }
        pthread_attr_destroy(&attributes);
    }
#endif
}
