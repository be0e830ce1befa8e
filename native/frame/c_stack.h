/* Whether half of this thread's C stack is in use. With the hook, calls between Python functions use C stack;
 * without it they do not. */

#ifndef CAPTURE_C_STACK_H
#define CAPTURE_C_STACK_H

#include <stddef.h>

/* In this part of the stack, between `low` and `middle`, the hook has no room. */
typedef struct {
    char *low;
    char *middle;
} StackBounds;

extern _Thread_local StackBounds c_stack_bounds __attribute__((tls_model("initial-exec")));

/* Finds the bounds of this thread's stack. It is called once for each thread. */
void c_stack_measure(void);

static inline int c_stack_is_low(void)
{
    if (c_stack_bounds.middle == NULL) {
        c_stack_measure();
    }
    const char *here = __builtin_frame_address(0);
    return here < c_stack_bounds.middle
           && here >= c_stack_bounds.low; /* outside: the stack of a coroutine library */
}

#endif
