/* How often the entries of an earlier process are looked for, where no look has found one yet.
 *
 * In:  code of which an earlier process has made entries, and none of them fitted its frames so far.
 * Out: whether the next frame is looked up, too.
 *
 *     20 evaluations under no_grad, then a training      ->   one look at the first of each: two states
 *     the first step of an optimizer, which has no state ->   another look at the second step
 *     a small function that no entry fits                ->   next to no looks
 *
 * Most entries differ in what every entry guards: the state of the thread. In a new state a look costs little
 * beside what it may find. In a known one the second frame is looked up, which finds what the first one has
 * made (gradients, the state of an optimizer). From then on, Python has to work for a while before the next
 * look, and as long as before all looks so far: the looks together take a small part of the time, and the
 * less the longer they find nothing. */

#include "frame/look_ups.h"

#include "frame/digest.h"

/* Python has to spend so many times the cost of the looks in vain before the next one. */
enum { TIMES_THE_LOOKS = 4 };

/* A new state is remembered. Where there is no room, each state is a known one. Two states with one number
 * cost time and nothing else. */
static int is_new_state(LookUps *looks)
{
    const uint64_t present = digest_of_thread_state();
    for (int i = 0; i < looks->count; i++) {
        if (looks->states[i] == present) {
            return 0;
        }
    }
    if (looks->count == MOST_LOOK_STATES) {
        return 0;
    }
    looks->states[looks->count++] = present;
    return 1;
}

void look_up_again(CodeState *state)
{
    LookUps *looks = &state->looks;
    ColdRuns *cold = &state->cold;
    if (looks->kind == KIND_UNKNOWN || is_looked_up(cold->kind)) {
        return;
    }
    if (cold->ns >= cold->next_look_ns || is_new_state(looks)) {
        looks->otherwise = cold->kind;
        cold->kind = looks->kind;
    }
}

int look_comes_next(const CodeState *state)
{
    const LookUps *looks = &state->looks;
    return looks->kind != KIND_UNKNOWN && state->cold.ns >= state->cold.next_look_ns;
}

void look_up_missed(CodeState *state, long long ns)
{
    LookUps *looks = &state->looks;
    const int first = looks->cost_ns == 0;
    looks->kind = state->cold.kind;
    looks->cost_ns += Py_MAX(ns, 1);
    is_new_state(looks);
    state->cold.kind = looks->otherwise;
    state->marks |= CODE_WAITS; /* who stored the beginning of the frame has not captured its rest */
    const long long wait = Py_MAX(TIMES_THE_LOOKS * looks->cost_ns, state->cold.ns);
    state->cold.next_look_ns = state->cold.ns + (first ? 0 : wait);
}
