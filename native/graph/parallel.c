/* Ranges divided between the threads of torch's own pool.
 *
 * In:  a function over a range, and how long a part must be to be worth a thread.
 * Out: the function was called on parts that do not overlap and cover the range.
 *
 *     parallel_parts(1000, 300)          ->  2, after torch.set_num_threads(2)
 *     parallel_run(f, data, 1000, 2)     ->  f(0, 500) | f(500, 1000)
 *
 * The pool is that of the OpenMP library that torch has loaded. `GOMP_parallel` is what the compiler makes of
 * `#pragma omp parallel`, so eager's kernels, MKL's and ours run on the same threads. A region always asks
 * for as many threads as torch would: with fewer, the library would end the others, and start new ones for
 * the next region. Which thread does which part does not change what it computes.
 *
 * A child process after fork() has none of its parent's threads, and the library does not notice: a region
 * would wait for ever. So in a child the caller does all work itself.
 */
#include "graph/parallel.h"

#include <dlfcn.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define ROUND                                                                                                \
    64 /* elements: parts of a long range begin at the vectors that one part would have, and share no line   \
          of the cache */

static void (*gomp_parallel)(void (*body)(void *), void *data, unsigned threads, unsigned flags);
static int (*thread_number)(void), (*team_size)(void);
static int (*torch_threads)(void);
static bool (*in_parallel_region)(void);
static bool forked;

typedef struct {
    RangeFunction function;
    const void *data;
    int64_t end, length, parts;
    fenv_t environment;      /* the caller's rounding and flushing of denormals */
    _Atomic int64_t failure; /* part << 32 | code, of the first part that failed */
} Region;

int64_t parallel_parts(int64_t end, int64_t grain)
{
    if (grain <= 0 || end < 2 * grain || gomp_parallel == NULL || forked || in_parallel_region()) {
        return 1;
    }
    int64_t threads = torch_threads(), parts = end / grain;
    return parts < threads ? parts : threads;
}

bool parallel_is_alone(void)
{
    return torch_threads != NULL && in_parallel_region != NULL
           && (torch_threads() == 1 || in_parallel_region());
}

static void note_failure(Region *region, int64_t part, int32_t code)
{
    int64_t mine = part << 32 | (uint32_t)code, known = atomic_load(&region->failure);
    while (mine < known && !atomic_compare_exchange_weak(&region->failure, &known, mine)) {
    }
}

/* The parts of one thread. There are several where the library gave fewer threads than it was asked for. */
static void region_body(void *data)
{
    Region *region = data;
    int number = thread_number();
    fenv_t own;
    if (number != 0) {
        fegetenv(&own);
        fesetenv(&region->environment);
    }
    for (int64_t part = number; part < region->parts; part += team_size()) {
        int64_t begin = part * region->length, end = begin + region->length;
        if (begin < region->end) {
            int32_t code = region->function(region->data, begin, end < region->end ? end : region->end);
            if (code != 0) {
                note_failure(region, part, code);
            }
        }
    }
    if (number != 0) {
        fesetenv(&own);
    }
}

int32_t parallel_run(RangeFunction function, const void *data, int64_t end, int64_t parts)
{
    if (parts <= 1) {
        return function(data, 0, end);
    }
    int64_t length = (end + parts - 1) / parts;
    if (length >= ROUND * ROUND) { /* else the parts would be too unequal */
        length = (length + ROUND - 1) / ROUND * ROUND;
    }
    Region region = {.function = function,
                     .data = data,
                     .end = end,
                     .length = length,
                     .parts = parts,
                     .failure = INT64_MAX};
    fegetenv(&region.environment);
    gomp_parallel(region_body, &region, (unsigned)torch_threads(), 0);
    return region.failure == INT64_MAX ? 0 : (int32_t)(region.failure & 0xffffffff);
}

static void after_fork(void)
{
    forked = true;
}

void init_parallel(void)
{
    static bool looked;
    void *library = looked ? NULL : dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    looked = true;
    if (library == NULL) {
        return;
    }
    /* A look-up in the library also sees what it was linked with: the OpenMP library. */
    thread_number = (int (*)(void))dlsym(library, "omp_get_thread_num");
    team_size = (int (*)(void))dlsym(library, "omp_get_num_threads");
    torch_threads = (int (*)(void))dlsym(library, "_ZN2at15get_num_threadsEv");
    in_parallel_region = (bool (*)(void))dlsym(library, "_ZN2at18in_parallel_regionEv");
    void *parallel = dlsym(library, "GOMP_parallel");
    bool found =
        thread_number != NULL && team_size != NULL && torch_threads != NULL && in_parallel_region != NULL;
    if (parallel != NULL && found && pthread_atfork(NULL, NULL, after_fork) == 0) {
        gomp_parallel = (void (*)(void (*)(void *), void *, unsigned, unsigned))parallel;
    }
}
