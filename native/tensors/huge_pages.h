/* Large blocks on huge pages: huge_pages.c. */
#ifndef CAPTURE_HUGE_PAGES_H
#define CAPTURE_HUGE_PAGES_H

#include <Python.h>
#include <stdint.h>

/* Call it for memory that was just allocated. It does nothing for small blocks, and nothing after
 * `_capture.set_huge_pages(False)`. */
void welcome_huge_pages(void *memory, size_t size);

int init_huge_pages(PyObject *module);

#endif
