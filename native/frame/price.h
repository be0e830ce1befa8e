/* What the capture of a code object costs: price.c. */

#ifndef CAPTURE_PRICE_H
#define CAPTURE_PRICE_H

#include "frame/code_entries.h"

/* What captures cost, in nanoseconds. */
typedef struct {
    long long unit_ns;  /* for a code unit of the frame and of those below it */
    long long least_ns; /* each of them */
    long long first_ns; /* more, as long as the compiler is not imported */
    long long turn_ns;  /* what a turn of a loop does itself is captured from here on */
} Rates;

/* What an operation and its backward have to save, in code units of 10 us. Their capture takes 1.2 ms in an
 * unrolled loop of Python, and 2.7 ms in a step of `torch.gru` in half precision. The graphs of such loops
 * save 0.85 of Python's time, where 0.4 is expected. The operations of most models have more code units of
 * their own. */
enum { UNITS_OF_A_NODE = 60 };

static inline long long units_of_nodes(long long nodes)
{
    return UNITS_OF_A_NODE * nodes;
}

/* The time that Python has to spend: what the capture costs. Who waits for that pays at most twice what the
 * better choice would have cost, however long the program runs. The next capture of the same code needs what
 * the captures before it have cost in vain: more may follow. */
long long price_of(const Rates *rates, const CodeState *state);

/* What the next capture of the code will cost, with all that it imports, however many were in vain. */
long long price_of_this_capture(const Rates *rates, const CodeState *state);

/* The time that Python has to spend where all else may come from the store: then what it imports serves this
 * capture alone. */
long long price_beside_stored_captures(const Rates *rates, const CodeState *state);

/* What the next capture will cost in a process without experience, with all that it imports. */
long long price_without_experience(const Rates *rates, const CodeState *state);

/* Whether `ns` are the price, where it is not known how often the code will run. Most frames of a cold
 * program have spent less than any capture costs: that is seen at once. */
int price_is_reached(const Rates *rates, const CodeState *state, long long ns);

/* A capture that was to cost `expected` has cost `paid`. */
void price_was_paid(long long expected, long long paid);

/* Captures have cost so much and given nothing. */
void price_was_wasted(long long ns);

/* The next captures are expected to cost what they do in a process without experience. */
void price_forget(void);

/* Earlier processes have captured code of this program. */
void price_others_are_stored(void);

/* Python has worked for so long in frames that wait. */
void price_python_worked(long long ns);

/* Whether an entry of the code and Python take turns. */
int code_takes_turns(const CodeState *state);

#endif
