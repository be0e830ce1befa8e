/* What tells that files have been touched.
 *
 * In:  a folder, and names of files and folders in it.
 * Out: for each its number, size, and the times of the last write and the last change of its status; zeros
 * for what is not there. Somebody who writes, replaces or renames a file changes its own stamp. Who adds or
 * removes one changes that of its folder.
 *
 *     file_stamps("/home/me/capture", b"api.py\0frame\0frame/convert.py\0")    ->    144 bytes
 *
 * 800 names take 1 ms. To list the folders too would take as long again.
 */
#include "capture_native.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    int64_t number, size, written, written_ns, changed, changed_ns;
} Stamp;

static Stamp stamp_of(int folder, const char *name)
{
    struct stat status;
    if (fstatat(folder, name, &status, 0) < 0) {
        return (Stamp){0};
    }
    return (Stamp){(int64_t)status.st_ino,         (int64_t)status.st_size,
                   (int64_t)status.st_mtim.tv_sec, (int64_t)status.st_mtim.tv_nsec,
                   (int64_t)status.st_ctim.tv_sec, (int64_t)status.st_ctim.tv_nsec};
}

/* The number of names. Each has a zero byte at its end, but for a rest. */
static Py_ssize_t count_of(const char *names, Py_ssize_t size)
{
    Py_ssize_t count = 0;
    for (const char *at = names; (at = memchr(at, '\0', (size_t)(names + size - at))) != NULL; at++) {
        count++;
    }
    return count;
}

static PyObject *file_stamps(PyObject *module, PyObject *args)
{
    PyObject *path;
    const char *names;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "O&y#", PyUnicode_FSConverter, &path, &names, &size)) {
        return NULL;
    }
    const int folder = open(PyBytes_AS_STRING(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const Py_ssize_t count = count_of(names, size);
    PyObject *stamps = NULL;
    if (folder < 0) {
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    } else {
        stamps = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(Stamp));
    }
    if (stamps != NULL) {
        char *next = PyBytes_AS_STRING(stamps);
        Py_BEGIN_ALLOW_THREADS;
        for (Py_ssize_t i = 0; i < count; i++, next += sizeof(Stamp), names += strlen(names) + 1) {
            const Stamp stamp = stamp_of(folder, names);
            memcpy(next, &stamp, sizeof stamp);
        }
        Py_END_ALLOW_THREADS;
    }
    if (folder >= 0) {
        close(folder);
    }
    Py_DECREF(path);
    return stamps;
}

static PyMethodDef functions[] = {
    {"file_stamps", file_stamps, METH_VARARGS,
     "file_stamps(folder, names) -> bytes that change when somebody touches one of the files.\n\n"
     "`names`: relative to the folder or absolute, each with a zero byte at its end."},
    {NULL, NULL, 0, NULL},
};

int init_file_stamps(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
