/* Large blocks on huge pages: huge_pages.c. */
#ifndef CAPTURE_HUGE_PAGES_H
#define CAPTURE_HUGE_PAGES_H

#include <Python.h>
#include <stdint.h>

/* For memory that was just allocated. Does nothing for little, and where `_capture.set_huge_pages` said so.
 */
void welcome_huge_pages(void *memory, size_t size);

int init_huge_pages(PyObject *module);

#endif
