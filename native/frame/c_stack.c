/* Bounds of a thread's C stack.
 *
 * In:  the running thread.
 * Out: the lower half of its stack as two addresses (stacks grow downwards). */

#include "frame/c_stack.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

_Thread_local StackBounds c_stack_bounds __attribute__((tls_model("initial-exec"))) = {NULL, NULL};

/* If the system does not say where the stack is: the half ends this far below the first call. */
static const size_t ASSUMED_HALF = 256 * 1024;

#ifdef __GLIBC__
/* The first thread's stack ends here. glibc's own answer for it reads the list of all memory maps: 0.5 ms. */
extern void *__libc_stack_end __attribute__((weak));

/* Linux keeps at least 128 MiB free below this stack. Under a higher limit something else may lie there. */
static const rlim_t SURELY_FREE = 64 << 20;

static bool measure_first_thread(const char *here)
{
    struct rlimit limit;
    if (&__libc_stack_end == NULL || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur > SURELY_FREE) {
        return false;
    }
    char *end = __libc_stack_end, *low = end - limit.rlim_cur;
    if (here <= low || here > end) {
        return false; /* the stack of another thread */
    }
    c_stack_bounds = (StackBounds){low, low + limit.rlim_cur / 2};
    return true;
}
#endif

void c_stack_measure(void)
{
    char *here = __builtin_frame_address(0);
    c_stack_bounds = (StackBounds){here - 2 * ASSUMED_HALF, here - ASSUMED_HALF};
#ifdef __GLIBC__
    pthread_attr_t attributes;
    if (measure_first_thread(here)) {
        return;
    }
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
