/* Random numbers as torch's CPU generator gives them, a block at a time.
 *
 * In:  a generator, the memory to fill.
 * Out: the memory holds what the operator of torch would have put there, and the generator has moved on as
 * far.
 *
 *     fill_bernoulli(generator, ..., memory, count, 1 << 52, 4, 0x3f800000)    ->    1.0 and 0.0, as likely
 *
 * The numbers come from a copy of the state, which then becomes the state. So no other thread may draw
 * meanwhile. From the look at the threads to the end this code keeps the GIL and runs no bytecode: the
 * collector is off, because finalisers are bytecode.
 *
 * The generator is MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998). torch takes its numbers one
 * after the other: 6 ns for an element of `bernoulli_`. Here loops without branches make the 624 words of a
 * block: 0.8 ns with AVX2.
 *
 * Two words make the number of an element, the first its upper half; `bernoulli_` looks at the lower 53 bits.
 */
#include "capture_native.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* as the whole module is built, GCC vectorises none of these loops */
#endif

#define INLINE static inline __attribute__((always_inline))

enum { WORDS = 624, AHEAD = 397 };

/* What torch keeps of a generator (CPUGeneratorImplStateLegacy). `left` is 1 where all words have been used;
 * each word has 32 bits. */
typedef struct {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next;
    uint64_t words[WORDS];
} State;

typedef struct {
    uint32_t words[WORDS];
    unsigned used; /* of the words */
} Twister;

typedef struct {
    size_t size;    /* of an element, in bytes */
    uint64_t below; /* an element whose number is below this one */
    uint64_t one;   /* has these bits, the others are 0 */
} Recipe;

INLINE uint32_t twisted(uint32_t first, uint32_t second)
{
    uint32_t both = (first & 0x80000000u) | (second & 0x7fffffffu);
    return (both >> 1) ^ ((0u - (second & 1u)) & 0x9908b0dfu);
}

INLINE void next_block(uint32_t *words)
{
    for (int i = 0; i < WORDS - AHEAD; i++) {
        words[i] = words[i + AHEAD] ^ twisted(words[i], words[i + 1]);
    }
    for (int i = WORDS - AHEAD; i < WORDS - 1; i++) {
        words[i] = words[i + AHEAD - WORDS] ^ twisted(words[i], words[i + 1]);
    }
    words[WORDS - 1] = words[AHEAD - 1] ^ twisted(words[WORDS - 1], words[0]);
}

INLINE void temper(const uint32_t *words, uint32_t *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t word = words[i];
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c5680u;
        word ^= (word << 15) & 0xefc60000u;
        numbers[i] = word ^ (word >> 18);
    }
}

/* Without a branch: it would be predicted wrongly for every tenth element of a usual dropout. */
#define BERNOULLI(TYPE)                                                                                      \
    {                                                                                                        \
        TYPE *restrict bits = to, one = (TYPE)recipe->one;                                                   \
        for (size_t i = 0; i < count; i++) {                                                                 \
            uint64_t number = (uint64_t)(numbers[2 * i] & 0x1fffffu) << 32 | numbers[2 * i + 1];             \
            bits[i] = (TYPE)((uint64_t)((int64_t)(number - below) >> 63) & one);                             \
        }                                                                                                    \
        break;                                                                                               \
    }

INLINE void write_bernoulli(const Recipe *recipe, const uint32_t *restrict numbers, void *to, size_t count)
{
    const uint64_t below = recipe->below;
    switch (recipe->size) {
    case 1:
        BERNOULLI(uint8_t)
    case 2:
        BERNOULLI(uint16_t)
    case 4:
        BERNOULLI(uint32_t)
    default:
        BERNOULLI(uint64_t)
    }
}

INLINE void fill(Twister *twister, const Recipe *recipe, char *to, size_t count)
{
    uint32_t numbers[WORDS + 1];
    unsigned kept = 0; /* the first word of a pair whose second one is in the next block */
    while (count > 0) {
        if (twister->used == WORDS) {
            next_block(twister->words);
            twister->used = 0;
        }
        size_t wanted = 2 * count - kept;
        unsigned taken = WORDS - twister->used;
        taken = wanted < taken ? (unsigned)wanted : taken;
        temper(twister->words + twister->used, numbers + kept, taken);
        twister->used += taken;
        unsigned have = kept + taken, made = have / 2;
        write_bernoulli(recipe, numbers, to, made);
        kept = have % 2;
        numbers[0] = numbers[have - 1];
        to += made * recipe->size;
        count -= made;
    }
}

static void fill_anywhere(Twister *twister, const Recipe *recipe, char *to, size_t count)
{
    fill(twister, recipe, to, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void fill_avx2(Twister *twister, const Recipe *recipe, char *to,
                                                      size_t count)
{
    fill(twister, recipe, to, count);
}
#endif

static void fill_best(Twister *twister, const Recipe *recipe, char *to, size_t count)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        fill_avx2(twister, recipe, to, count);
        return;
    }
#endif
    fill_anywhere(twister, recipe, to, count);
}

/* Whether the state is one that torch itself leaves behind. */
static bool read_state(const State *state, Twister *twister)
{
    if (state->left < 1 || state->left > WORDS
        || (state->left > 1 && state->next + (uint64_t)state->left != WORDS + 1)) {
        return false;
    }
    twister->used = WORDS + 1 - (unsigned)state->left;
    for (int i = 0; i < WORDS; i++) {
        twister->words[i] = (uint32_t)state->words[i];
    }
    return true;
}

static void write_state(State *state, const Twister *twister)
{
    state->left = (int32_t)(WORDS + 1 - twister->used);
    state->next = twister->used;
    for (int i = 0; i < WORDS; i++) {
        state->words[i] = twister->words[i];
    }
}

/* What Python calls a thread's place: a function of the standard library in which it waits. */
typedef struct {
    PyObject *frames;        /* sys._current_frames */
    PyObject *names, *files; /* of the functions; the beginning of the names of their files */
} Waiting;

static bool is_library(const Waiting *waiting, PyObject *file)
{
    const char *name = PyUnicode_AsUTF8(file);
    if (name == NULL) {
        PyErr_Clear(); /* it has lone surrogates: no file of the library has */
        return false;
    }
    return PyUnicode_Tailmatch(file, waiting->files, 0, PY_SSIZE_T_MAX, -1) == 1
           && strstr(name, "-packages") == NULL;
}

static bool waits(const Waiting *waiting, PyObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    const bool known =
        PySet_Contains(waiting->names, code->co_name) == 1 && is_library(waiting, code->co_filename);
    Py_DECREF(code);
    return known;
}

/* Whether each other thread waits: 1 or 0. -1 with an exception. */
static int others_wait(const Waiting *waiting)
{
    PyObject *frames = PyObject_CallNoArgs(waiting->frames), *thread, *frame;
    if (frames == NULL) {
        return -1;
    }
    bool all = true;
    Py_ssize_t position = 0;
    while (all && PyDict_Next(frames, &position, &thread, &frame)) {
        all = PyLong_AsUnsignedLong(thread) == PyThread_get_thread_ident() || waits(waiting, frame);
    }
    Py_DECREF(frames);
    return PyErr_Occurred() ? -1 : all;
}

/* 1: filled, and the state has moved on. 0: not a state that torch leaves behind. */
static int fill_from(State *state, const Recipe *recipe, char *to, size_t count)
{
    Twister twister;
    if (!read_state(state, &twister)) {
        return 0;
    }
    if (count > 0) {
        fill_best(&twister, recipe, to, count);
        write_state(state, &twister);
    }
    return 1;
}

/* 1: filled. 0: the state is none of torch's. -1 with an exception. */
static int draw(PyObject *generator, const Recipe *recipe, char *to, size_t count)
{
    PyObject *state = PyObject_CallMethod(generator, "get_state", NULL);
    PyObject *address = state == NULL ? NULL : PyObject_CallMethod(state, "data_ptr", NULL);
    int filled = -1;
    if (address != NULL) {
        filled = fill_from(PyLong_AsVoidPtr(address), recipe, to, count);
    }
    if (filled == 1) {
        PyObject *done = PyObject_CallMethod(generator, "set_state", "O", state);
        filled = done == NULL ? -1 : 1;
        Py_XDECREF(done);
    }
    Py_XDECREF(address);
    Py_XDECREF(state);
    return filled;
}

static PyObject *fill_bernoulli(PyObject *module, PyObject *args)
{
    PyObject *generator;
    Waiting waiting;
    unsigned long long to, below, one;
    Py_ssize_t count, size;
    if (!PyArg_ParseTuple(args, "OOO!UKnKnK", &generator, &waiting.frames, &PyFrozenSet_Type, &waiting.names,
                          &waiting.files, &to, &count, &below, &size, &one)) {
        return NULL;
    }
    if (size != 1 && size != 2 && size != 4 && size != 8) {
        PyErr_Format(PyExc_ValueError, "elements of %zd bytes: 1, 2, 4 or 8 are possible", size);
        return NULL;
    }
    const Recipe recipe = {.size = (size_t)size, .below = below, .one = one};
    const int collected = PyGC_Disable();
    int filled = others_wait(&waiting);
    if (filled == 1) {
        filled = draw(generator, &recipe, (char *)to, (size_t)count);
    }
    if (collected) {
        PyGC_Enable();
    }
    return filled < 0 ? NULL : PyBool_FromLong(filled);
}

static PyMethodDef functions[] = {
    {"fill_bernoulli", fill_bernoulli, METH_VARARGS,
     "fill_bernoulli(generator, frames, names, files, to, count, below, size, one): `count` elements, of "
     "`size` bytes each, at the address `to`, as torch's bernoulli_ fills them. An element has the bits "
     "`one` where its "
     "number, of 53 bits, is smaller than `below`, else it is 0. False, and nothing is drawn: the generator "
     "has a state that torch does not leave behind, or one of the threads of `frames()` is in no function of "
     "these names, in files that begin so."},
    {NULL, NULL, 0, NULL},
};

int init_mersenne_twister(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
