/* An allocator for tests: each block lies at the edge of a page that nobody may touch.
 *
 * In:  the environment, and the call that begins it. scripts/guarded_memory.py has the names.
 * Out: SIGSEGV at the first read or write behind a block (or before it) and at each use of a freed one, with
 *      a line that names the block. SIGABRT where a block is freed and bytes beside it have changed.
 *
 *     data page  data page  guard        malloc(5000): 3,192 bytes of 0xA5, then the block, then the guard
 *     [a5a5 xxxx][xxxx xxxx][....]
 *
 * Blocks come one behind another from one large range of addresses, and no address is given twice. So a block
 * stays unreadable when it is freed. A block at the edge costs two entries in the system's table of mappings,
 * of which a process has 65,530: where too many live, the next ones come from the C library, unguarded. They
 * are counted. New blocks are full of 0xFF, which is NaN and -1: whoever reads what nobody has written
 * gets other results.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

enum {
    PAGE = 4096,
    SMALLEST_ALIGNMENT = 16, /* what malloc promises */
    BESIDE = 0xA5,
    UNWRITTEN = 0xFF,
    MOST_OF_A_KIND = 14000, /* live blocks */
};

/* Blocks of malloc are many, and some live as long as the process: of them, one of `sample` is guarded.
   Memory of tensors is asked for with an alignment; it is counted by itself. */
enum { PLAIN, ALIGNED, KINDS };

static const size_t RANGE = (size_t)1 << 45, MOST_BYTES = (size_t)1 << 31;
/* What the table has of a block: its size, where in its first page it begins, its kind and state. */
static const uint64_t FREED = (uint64_t)1 << 63, OF_ALIGNED = (uint64_t)1 << 62,
                      OFFSET_UNIT = (uint64_t)1 << 48, OFFSET = (uint64_t)(PAGE - 1) << 48,
                      SIZE = ((uint64_t)1 << 48) - 1;

static char *range;         /* of addresses; NULL: not begun */
static uint64_t *entries;   /* by page of the range: the block that begins in it, or 0 */
static _Atomic size_t used; /* bytes of the range */
static _Atomic long live[KINDS], guarded[KINDS], passed_on[KINDS], asked;
static size_t least_size = 64, most_aligned = PAGE, sample = 1;
static struct sigaction handler_before;
static int in_front; /* the guard that counts is the one before the block */

/* --- reports ----------------------------------------------------------------------------------------- */

/* What was done to a block, at which byte of it. No memory is allocated for the line. */
static void say(const char *done, const char *state, size_t size, long at)
{
    char line[256];
    int length =
        snprintf(line, sizeof line, "guarded memory: %s %ld bytes %s the begin of %sblock of %zu bytes\n",
                 done, at < 0 ? -at : at, at < 0 ? "before" : "behind", state, size);
    void *frames[40];
    if (write(STDERR_FILENO, line, (size_t)length) == length) {
        backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    }
}

static size_t bytes_in_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static char *page_of(const void *address)
{
    return range + (size_t)((const char *)address - range) / PAGE * PAGE;
}

static uint64_t *entry_of(const void *address)
{
    return &entries[(size_t)((const char *)address - range) / PAGE];
}

static int is_guarded(const void *address)
{
    return range != NULL && (const char *)address >= range && (const char *)address < range + RANGE;
}

static const char *state_of(uint64_t entry)
{
    return entry & FREED ? "a freed " : "a ";
}

/* Of the blocks beside the address that one whose guard it is. */
static void report_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (is_guarded(info->si_addr)) {
        const char *touched = info->si_addr, *page = page_of(touched);
        page += in_front && *entry_of(page) == 0 ? PAGE : 0;
        while (page > range && *entry_of(page) == 0) {
            page -= PAGE;
        }
        uint64_t entry = *entry_of(page);
        const char *block = page + (entry & OFFSET) / OFFSET_UNIT;
        say("touched", state_of(entry), entry & SIZE, touched - block);
    }
    sigaction(number, &handler_before, NULL); /* the instruction runs once more, for the next handler */
}

static void check_beside(const char *from, const char *to, const char *block, size_t size)
{
    for (const char *byte = from; byte < to; byte++) {
        if ((unsigned char)*byte != BESIDE) {
            say("written", "a ", size, byte - block);
            abort();
        }
    }
}

/* Addresses that nobody may touch. */
static char *reserve(char *place, size_t bytes, int flags)
{
    void *made = mmap(place, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    if (made == MAP_FAILED) {
        perror("guarded memory: mmap");
        abort();
    }
    return made;
}

/* --- blocks ------------------------------------------------------------------------------------------ */

static int has_room(int kind)
{
    if (kind == ALIGNED || atomic_fetch_add(&asked, 1) % sample == 0) {
        if (atomic_fetch_add(&live[kind], 1) < MOST_OF_A_KIND) {
            return 1;
        }
        atomic_fetch_sub(&live[kind], 1);
    }
    atomic_fetch_add(&passed_on[kind], 1);
    return 0;
}

/* NULL: it is for the C library. */
static void *new_block(size_t size, size_t alignment, int kind)
{
    size_t extent = (size + alignment - 1) / alignment * alignment;
    if (range == NULL || size == 0 || size < least_size || size > MOST_BYTES || alignment > PAGE
        || !has_room(kind)) {
        return NULL;
    }
    size_t bytes = bytes_in_pages(extent);
    char *pages = range + atomic_fetch_add(&used, bytes + PAGE);
    if (pages + bytes + PAGE > range + RANGE || mprotect(pages, bytes, PROT_READ | PROT_WRITE) != 0) {
        atomic_fetch_sub(&live[kind], 1);
        atomic_fetch_add(&passed_on[kind], 1);
        return NULL;
    }
    atomic_fetch_add(&guarded[kind], 1);
    char *block = in_front ? pages : pages + bytes - extent;
    memset(pages, BESIDE, (size_t)(block - pages));
    memset(block, UNWRITTEN, size);
    memset(block + size, BESIDE, (size_t)(pages + bytes - block) - size);
    *entry_of(block) = size | (uint64_t)(block - pages) * OFFSET_UNIT | (kind == ALIGNED ? OF_ALIGNED : 0);
    return block;
}

static void free_block(char *block)
{
    int errno_before = errno;
    uint64_t entry = *entry_of(block), size = entry & SIZE;
    if (entry == 0 || entry & FREED || (entry & OFFSET) / OFFSET_UNIT != (uint64_t)(block - page_of(block))) {
        say("freed", state_of(entry), size, 0);
        abort();
    }
    char *pages = page_of(block);
    char *end = pages + bytes_in_pages((size_t)(block - pages) + size);
    check_beside(pages, block, block, size);
    check_beside(block + size, end, block, size);
    *entry_of(block) = entry | FREED;
    reserve(pages, (size_t)(end - pages), MAP_FIXED); /* the memory goes back to the system */
    atomic_fetch_sub(&live[entry & OF_ALIGNED ? ALIGNED : PLAIN], 1);
    errno = errno_before;
}

/* --- what the C library has -------------------------------------------------------------------------- */

EXPORT void *malloc(size_t size)
{
    void *block = new_block(size, SMALLEST_ALIGNMENT, PLAIN);
    return block != NULL ? block : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *block =
        __builtin_mul_overflow(count, size, &bytes) ? NULL : new_block(bytes, SMALLEST_ALIGNMENT, PLAIN);
    return block != NULL ? memset(block, 0, bytes) : __libc_calloc(count, size);
}

EXPORT void free(void *block)
{
    if (is_guarded(block)) {
        free_block(block);
    } else {
        __libc_free(block);
    }
}

EXPORT void *realloc(void *block, size_t size)
{
    if (block == NULL) {
        return malloc(size);
    }
    if (!is_guarded(block)) {
        return __libc_realloc(block, size);
    }
    if (size == 0) {
        free_block(block);
        return NULL;
    }
    size_t before = (*entry_of(block) & SIZE);
    void *moved = malloc(size);
    if (moved != NULL) {
        memcpy(moved, block, before < size ? before : size);
        free_block(block);
    }
    return moved;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    size_t kept = alignment < most_aligned || alignment > PAGE ? alignment : most_aligned;
    void *block = new_block(size, kept, ALIGNED);
    return block != NULL ? block : __libc_memalign(alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    void *made = memalign(alignment, size);
    if (made == NULL) {
        return ENOMEM;
    }
    *block = made;
    return 0;
}

EXPORT size_t malloc_usable_size(void *block)
{
    static _Atomic(size_t(*)(void *)) of_the_library;
    if (block != NULL && is_guarded(block)) {
        return (*entry_of(block) & SIZE);
    }
    if (of_the_library == NULL) {
        of_the_library = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    }
    return of_the_library(block);
}

/* --- its begin and its end --------------------------------------------------------------------------- */

static size_t setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

/* From now on blocks are guarded. Whoever loads libraries first spares their blocks, which never end. */
EXPORT void guarded_memory_begin(void)
{
    struct sigaction action = {.sa_sigaction = report_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, &handler_before);
    backtrace((void *[1]){NULL}, 1); /* it loads a library when it is called first */
    least_size = setting("GUARDED_LEAST", least_size);
    most_aligned = setting("GUARDED_ALIGNMENT", most_aligned);
    sample = setting("GUARDED_SAMPLE", sample);
    in_front = setting("GUARDED_FRONT", 0) != 0;
    entries = mmap(NULL, RANGE / PAGE * sizeof *entries, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (entries == MAP_FAILED) {
        perror("guarded memory: mmap");
        abort();
    }
    used = PAGE; /* the guard before the first block */
    range = reserve(NULL, RANGE, 0);
}

__attribute__((destructor)) static void tell(void)
{
    if (range != NULL) {
        fprintf(stderr,
                "guarded memory: of blocks with an alignment %ld were guarded, %ld came from the C library; "
                "of others %ld and %ld; %zu MiB of addresses\n",
                guarded[ALIGNED], passed_on[ALIGNED], guarded[PLAIN], passed_on[PLAIN], used >> 20);
    }
}
