/* The clock of a thread that stands while the thread waits. */

#ifndef CAPTURE_WORKED_TIME_H
#define CAPTURE_WORKED_TIME_H

/* Nanoseconds that this thread has worked, to about a millisecond. It never goes back. */
long long worked_ns(void);

#endif
