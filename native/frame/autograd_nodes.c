/* How many operations this thread has recorded for a backward.
 *
 * In:  libtorch_cpu.so, which numbers the nodes of autograd's graph. Out: the number of the next node.
 *
 *     h = x @ w; y = h.tanh()    ->    2 more
 *     torch.gru(...), 30 steps   ->    hundreds more: C++ unrolls the loop as a graph does
 *
 * Without torch, and without gradients, the number stays as it is. */

#include "frame/autograd_nodes.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

static uint64_t (*next_number)(void);

void init_autograd_nodes(void)
{
    void *library = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    if (library != NULL) {
        next_number = (uint64_t(*)(void))dlsym(library, "_ZN2at15sequence_number4peekEv");
    }
}

unsigned long long autograd_nodes(void)
{
    return next_number == NULL ? 0 : next_number();
}
