/* Ranges divided between the threads of torch's own pool. */
#ifndef CAPTURE_PARALLEL_H
#define CAPTURE_PARALLEL_H

#include <stdbool.h>
#include <stdint.h>

/* Does [begin, end) and gives 0 or an error code. Runs on any thread, without the GIL. */
typedef int32_t (*RangeFunction)(const void *data, int64_t begin, int64_t end);

/* How many parts [0, end) is worth now. Each is at least `grain` long (0: never more than one part). */
int64_t parallel_parts(int64_t end, int64_t grain);

/* Whether a library that is called here and now has one thread. */
bool parallel_is_alone(void);

/* The function on [0, end), in `parts` parts. The error code of the first part that has one, or 0. */
int32_t parallel_run(RangeFunction function, const void *data, int64_t end, int64_t parts);

/* Finds torch's thread pool, once. Where there is none, the caller does all work. */
void init_parallel(void);

#endif
