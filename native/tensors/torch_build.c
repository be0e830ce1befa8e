/* Which build of torch this process has loaded.
 *
 * In:  an address inside each of torch's libraries.
 * Out: the identities that the linker gave these files: digests of their contents. Files of another identity
 *      may keep the properties of a tensor elsewhere.
 *
 *     torch_build()    ->    "b7066ed9...-53f5a954...-68c42bb1..."
 *
 * They are read in the memory of the process: a file that somebody replaces meanwhile does not count.
 */
#include "tensors/torch_symbols.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#define LEAST_BYTES 8 /* of an identity; linkers write 16 or 20 */
#define MOST_BYTES 32
#define LIBRARIES 3

/* The GNU build identity among the notes of a loaded file; its size, or 0. */
static size_t identity_among(const char *notes, size_t size, const unsigned char **out)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)notes;
        const size_t name = (note->n_namesz + 3) & ~(size_t)3,
                     whole = name + ((note->n_descsz + 3) & ~(size_t)3);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(note + 1, "GNU", 4) == 0) {
            *out = (const unsigned char *)(note + 1) + name;
            return note->n_descsz;
        }
        if (whole > size - sizeof *note) {
            break;
        }
        notes += sizeof *note + whole;
        size -= sizeof *note + whole;
    }
    return 0;
}

typedef struct {
    const void *inside; /* an address of the file that is looked for */
    const unsigned char *identity;
    size_t size;
} Identity;

static int find_identity(struct dl_phdr_info *file, size_t size, void *wanted)
{
    Identity *found = wanted;
    int is_it = 0;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        const ElfW(Addr) from = file->dlpi_addr + part->p_vaddr;
        is_it |= part->p_type == PT_LOAD && (ElfW(Addr))found->inside - from < part->p_memsz;
    }
    for (int i = 0; is_it && i < file->dlpi_phnum && found->size == 0; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type == PT_NOTE) {
            found->size = identity_among((const char *)(file->dlpi_addr + part->p_vaddr), part->p_memsz,
                                         &found->identity);
        }
    }
    return is_it;
}

/* `text` gets the identities in hexadecimal digits. False where a library has none. */
static bool write_build(char text[LIBRARIES * (2 * MOST_BYTES + 1)])
{
    const void *of_libraries[LIBRARIES] = {torch_symbols.empty_strided, torch_symbols.grad_mode,
                                           torch_symbols.wrap};
    char *end = text;
    for (size_t i = 0; i < LIBRARIES; i++) {
        Identity found = {of_libraries[i], NULL, 0};
        dl_iterate_phdr(find_identity, &found);
        if (found.size < LEAST_BYTES || found.size > MOST_BYTES) {
            return false;
        }
        for (size_t byte = 0; byte < found.size; byte++) {
            end += sprintf(end, "%02x", found.identity[byte]);
        }
        *end++ = '-';
    }
    end[-1] = '\0';
    return true;
}

static PyObject *torch_build(PyObject *module, PyObject *ignored)
{
    char text[LIBRARIES * (2 * MOST_BYTES + 1)];
    if (load_torch_symbols() < 0) {
        return NULL;
    }
    if (!write_build(text)) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(text);
}

static PyMethodDef functions[] = {
    {"torch_build", torch_build, METH_NOARGS,
     "The build identities of torch's libraries in this process; None where a library has none."},
    {NULL, NULL, 0, NULL},
};

int init_torch_build(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
