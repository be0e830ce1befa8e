/* Is the C stack of this thread half used? With the hook installed, calls between Python functions use C
 * stack, which they don't else. */

#ifndef CAPTURE_C_STACK_H
#define CAPTURE_C_STACK_H

#include <stddef.h>

/* The part of the stack in which there is no room left for the hook: addresses between `low` and `middle`. */
typedef struct {
    char *low;
    char *middle;
} StackBounds;

extern _Thread_local StackBounds c_stack_bounds __attribute__((tls_model("initial-exec")));

/* Finds the bounds of this thread's stack; called once a thread. */
void c_stack_measure(void);

static inline int c_stack_is_low(void)
{
    if (c_stack_bounds.middle == NULL) {
        c_stack_measure();
    }
    const char *here = __builtin_frame_address(0);
    return here < c_stack_bounds.middle
           && here >= c_stack_bounds.low; /* outside: a coroutine library's own stack */
}

#endif
