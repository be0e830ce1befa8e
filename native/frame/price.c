/* What the capture of a code object costs: the time that Python has to spend in its frames before.
 *
 * In:  the rates of a Patience; the runs of the code and the code units below them (code_entries.h); what
 *      captures were expected to cost in this process, and what they have cost.
 * Out: nanoseconds.
 *
 *     what each capture costs, and so much for each code unit, times what experience says
 *     the compiler is not imported yet              ->  and its import, less what other frames have taken
 *     the same, and captures come from the store    ->  and its import
 *     captures of the code were in vain             ->  at least what these have cost
 *     many captures of the process were in vain     ->  several times that, where nobody knows what is to
 * come */

#include "frame/pyversion_objects.h" /* first, see there */

#include "frame/price.h"

/* The module that the first capture of a process imports with all that belongs to it. (`import capture` reads
 * the version of llvmlite, and imports no more of it.) */
#define COMPILER "llvmlite.binding"

/* What captures were expected to cost in this process, and what they have cost: the machine, the kind of
 * program, and a store that has the graphs already make a difference. */
static struct {
    long long expected_ns, paid_ns;
    long long python_ns;   /* what counts for all cold frames that have ended */
    long long wasted_ns;   /* captures that have given nothing */
    int others_are_stored; /* earlier processes have captured what pays */
} experience;

/* A process begins with the experience that so much has cost what was expected. */
enum { EXPECTED_AT_FIRST_NS = 500000000 };

/* Captures in vain may take so much, and then one of so many parts of what Python has worked. */
enum { FREE_WASTE_NS = 100000000, PARTS_OF_WASTE = 32 };

static int compiler_is_imported(void)
{
    static int imported = 0;
    static int64_t version = 0; /* of the dict of modules when it was not imported */
    static PyObject *name;
    PyObject *modules = imported ? NULL : PyImport_GetModuleDict();
    if (modules == NULL || !PyDict_CheckExact(modules) || dict_version((PyDictObject *)modules) == version) {
        return imported;
    }
    name = name == NULL ? PyUnicode_InternFromString(COMPILER) : name;
    imported = name != NULL && PyDict_GetItemWithError(modules, name) != NULL;
    PyErr_Clear(); /* no memory for the name: not imported so far */
    version = dict_version((PyDictObject *)modules);
    return imported;
}

/* What the captures so far have cost, in times of what was expected. */
static double experienced(void)
{
    return (double)(EXPECTED_AT_FIRST_NS + experience.paid_ns)
           / (double)(EXPECTED_AT_FIRST_NS + experience.expected_ns);
}

/* Without what the capture imports. */
static long long own_estimate(const Rates *rates, const CodeState *state)
{
    const ColdRuns *cold = &state->cold;
    const double units = cold->runs == 0 ? 0 : (double)(cold->units / cold->runs);
    return rates->least_ns + (long long)(units * (double)rates->unit_ns);
}

static long long whole_import(const Rates *rates)
{
    return compiler_is_imported() ? 0 : rates->first_ns;
}

long long price_without_experience(const Rates *rates, const CodeState *state)
{
    return own_estimate(rates, state) + whole_import(rates) + state->cold.surcharge_ns;
}

/* What the first capture of a process imports serves all captures: the time of other frames pays for it, too.
 * Where these come from the store, no other capture may follow. */
static long long import_price(const Rates *rates, const CodeState *state)
{
    const long long others =
        experience.others_are_stored ? 0 : Py_MAX(experience.python_ns - state->cold.ns, 0);
    return Py_MAX(whole_import(rates) - others, 0);
}

/* Entries and Python take turns where an entry has run as often as Python since the last capture, or up to
 * so many times. */
enum { RUNS_OF_A_TURN = 8 };

static int takes_turns_with(const CodeState *state, const Entry *entry)
{
    const Py_ssize_t turns = entry->hits / Py_MAX(state->cold.runs, 1);
    return !entry_is_eager(entry) && turns >= 1 && turns <= RUNS_OF_A_TURN;
}

int code_takes_turns(const CodeState *state)
{
    Py_ssize_t i = 0;
    while (i < state->count && !takes_turns_with(state, state->entries[i])) {
        i++;
    }
    return i < state->count;
}

/* What the captures of the code have cost, without those whose entries take turns with Python: the code has a
 * few variants then, as the network that a GAN calls in three ways. Else each frame may need another entry,
 * or Python runs what seldom comes. */
static long long paid_in_vain(const CodeState *state)
{
    long long paid = state->paid_ns;
    for (Py_ssize_t i = 0; i < state->count; i++) {
        const Entry *entry = state->entries[i];
        paid -= takes_turns_with(state, entry) ? entry->cost_ns : 0;
    }
    return Py_MAX(paid, 0);
}

/* Without the import of the compiler. No experience has what captures import. */
static long long own_price(const Rates *rates, const CodeState *state)
{
    return (long long)((double)own_estimate(rates, state) * experienced()) + state->cold.surcharge_ns;
}

long long price_of(const Rates *rates, const CodeState *state)
{
    return Py_MAX(own_price(rates, state) + import_price(rates, state), paid_in_vain(state));
}

long long price_of_this_capture(const Rates *rates, const CodeState *state)
{
    return own_price(rates, state) + whole_import(rates);
}

long long price_beside_stored_captures(const Rates *rates, const CodeState *state)
{
    return price_of(rates, state) - import_price(rates, state) + whole_import(rates);
}

/* How many times its price a capture has to be worth. Frames that call each other in a long chain each have
 * the time of all that is below, and if there is nothing to capture, each is tried. What has more operators
 * for its bytecode reaches a higher price earlier than what is all Python. */
static double wastefulness(void)
{
    const double wasted = (double)(experience.wasted_ns - FREE_WASTE_NS);
    return Py_MAX(1, PARTS_OF_WASTE * wasted / (double)Py_MAX(experience.python_ns, 1));
}

int price_is_reached(const Rates *rates, const CodeState *state, long long ns)
{
    const double least = (double)rates->least_ns * experienced(); /* no capture costs less */
    return (double)ns >= least && (double)ns >= (double)price_of(rates, state) * wastefulness();
}

/* --- experience -------------------------------------------------------------------------------------- */

void price_was_paid(long long expected, long long paid)
{
    experience.expected_ns += expected;
    experience.paid_ns += paid;
}

void price_forget(void)
{
    experience.expected_ns = experience.paid_ns = experience.wasted_ns = 0;
    experience.others_are_stored = 0;
}

void price_others_are_stored(void)
{
    experience.others_are_stored = 1;
}

void price_was_wasted(long long ns)
{
    experience.wasted_ns += ns;
}

void price_python_worked(long long ns)
{
    experience.python_ns += ns;
}
