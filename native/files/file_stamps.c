/* What tells that files have been touched, for a whole tree of folders.
 *
 * In:  a folder, the ending of the files.
 * Out: bytes that change when somebody writes, adds, removes or renames such a file below the folder: for
 * each file its name, number, size, and the times of the last write and the last change of its status.
 *
 *     file_stamps("/home/me/capture", ".py")    ->    b"api.py\0..."
 *
 * 700 files take 1 ms, a third of what os.scandir needs. Folders with a dot in the name are left out, as
 * Python's own folders (`__pycache__`) are. The order is that of the file system: copies of a tree may
 * differ.
 */
#include "capture_native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEEPEST 32 /* of folders: a link may lead back */

typedef struct {
    const char *ending;
    char *bytes;
    size_t size, room;
} Stamps;

/* -1 with errno. */
static int append(Stamps *to, const void *data, size_t size)
{
    if (to->size + size > to->room) {
        size_t room = 2 * to->room + size + 4096;
        char *moved = PyMem_RawRealloc(to->bytes, room);
        if (moved == NULL) {
            errno = ENOMEM;
            return -1;
        }
        to->bytes = moved;
        to->room = room;
    }
    memcpy(to->bytes + to->size, data, size);
    to->size += size;
    return 0;
}

static int append_file(Stamps *to, const char *name, const struct stat *status)
{
    const int64_t facts[] = {
        (int64_t)status->st_ino,          (int64_t)status->st_size,        (int64_t)status->st_mtim.tv_sec,
        (int64_t)status->st_mtim.tv_nsec, (int64_t)status->st_ctim.tv_sec, (int64_t)status->st_ctim.tv_nsec,
    };
    return append(to, name, strlen(name) + 1) < 0 ? -1 : append(to, facts, sizeof facts);
}

static int has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && strcmp(name + length - wanted, ending) == 0;
}

static int append_folder(Stamps *to, int parent, const char *name, int depth);

static int append_item(Stamps *to, int folder, const struct dirent *item, int depth)
{
    struct stat status;
    if (has_ending(item->d_name, to->ending)) {
        return fstatat(folder, item->d_name, &status, 0) < 0 ? -1 : append_file(to, item->d_name, &status);
    }
    if (item->d_type == DT_REG || strchr(item->d_name, '.') != NULL
        || strcmp(item->d_name, "__pycache__") == 0) {
        return 0;
    }
    if (item->d_type != DT_DIR) { /* a link, or the file system does not say */
        if (fstatat(folder, item->d_name, &status, 0) < 0) {
            return -1;
        }
        if (!S_ISDIR(status.st_mode)) {
            return 0;
        }
    }
    return append_folder(to, folder, item->d_name, depth + 1);
}

static int append_items(Stamps *to, DIR *items, int depth)
{
    for (;;) {
        errno = 0;
        const struct dirent *item = readdir(items);
        if (item == NULL) {
            return errno == 0 ? 0 : -1;
        }
        if (append_item(to, dirfd(items), item, depth) < 0) {
            return -1;
        }
    }
}

static int append_folder(Stamps *to, int parent, const char *name, int depth)
{
    if (depth > DEEPEST) {
        errno = ELOOP;
        return -1;
    }
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *items = folder < 0 ? NULL : fdopendir(folder);
    if (items == NULL) {
        if (folder >= 0) {
            close(folder);
        }
        return -1;
    }
    int status = append(to, name, strlen(name) + 1) < 0 ? -1 : append_items(to, items, depth);
    int error = errno;
    closedir(items);
    errno = error;
    return status;
}

static PyObject *file_stamps(PyObject *module, PyObject *args)
{
    PyObject *path, *stamps = NULL;
    Stamps found = {0};
    int status;
    if (!PyArg_ParseTuple(args, "O&s", PyUnicode_FSConverter, &path, &found.ending)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    status = append_folder(&found, AT_FDCWD, PyBytes_AS_STRING(path), 0);
    Py_END_ALLOW_THREADS;
    if (status < 0) {
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    } else {
        stamps = PyBytes_FromStringAndSize(found.bytes, (Py_ssize_t)found.size);
    }
    PyMem_RawFree(found.bytes);
    Py_DECREF(path);
    return stamps;
}

static PyMethodDef functions[] = {
    {"file_stamps", file_stamps, METH_VARARGS,
     "file_stamps(folder, ending) -> bytes that change when a file below the folder is touched."},
    {NULL, NULL, 0, NULL},
};

int init_file_stamps(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
