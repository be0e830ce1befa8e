/* Finds where this build of torch keeps the properties of a tensor.
 *
 * In:  sample tensors with unusual properties, and those properties as Python tells them.
 * Out: `tensor_offsets`. Each offset is the only place where every sample has the value that it should have.
 *
 *     samples of sizes (2, 3, 5) ...     ->     64: the only offset in TensorImpl with the words 2, 3, 5
 *
 * What lies behind an object, and between its fields, may have fitting values by chance. So the samples are
 * read again after those of their properties have changed that AutogradMeta holds: only the places of the
 * properties change with them. (Versions are read at the end, for all samples.)
 *
 * Candidates are read through /proc/self/mem: a wrong guess at a pointer gives an error there, not a crash.
 */
#define PY_SSIZE_T_CLEAN
#include "tensors/tensor_calibrate.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define IMPL_BYTES 208
#define STORAGE_BYTES 96
#define META_BYTES 256
#define MAX_SAMPLES 64
#define MAX_DIMS 8

/* Each sample: (tensor, properties). Grad mode and default dtype of the caller must not matter. */
static const char SAMPLE_CODE[] =
    "import torch\n"
    "def describe(t):\n"
    "    s = t.untyped_storage()\n"
    "    return (t, dict(impl=t._cdata, pyobj=id(t), storage=s._cdata, data=s.data_ptr(), nbytes=s.nbytes(), "
    "ndim=t.dim(),\n"
    "        sizes=tuple(t.shape), strides=t.stride(), offset=t.storage_offset(), numel=t.numel(), "
    "version=t._version,\n"
    "        keys=torch._C._dispatch_keys(t).raw_repr(), device=t.device, dtype=t.dtype, "
    "requires=t.requires_grad, leaf=t.is_leaf,\n"
    "        meta=t.requires_grad or t._is_view() or t in unset, grad=t.grad._cdata if t.is_leaf and t.grad "
    "is not None else 0))\n"
    "class Identities(list):\n"
    "    def __contains__(self, t): return any(t is item for item in self)\n"
    "unset = Identities()\n"
    "with torch.inference_mode(False), torch.enable_grad():\n"
    "    cpu = dict(device='cpu')\n"
    "    base = torch.zeros(4000, dtype=torch.float32, **cpu)\n"
    "    plain = [base.as_strided((2, 3, 5), (77, 19, 2), 11), base.as_strided((7,), (13,), 101),\n"
    "        torch.zeros(3, 11, 2, 2, 2, 3, dtype=torch.float64, **cpu), torch.zeros(17, 4, "
    "dtype=torch.bool, **cpu),\n"
    "        torch.zeros(19, 6, dtype=torch.int64, **cpu), torch.zeros(23, dtype=torch.bfloat16, **cpu),\n"
    "        torch.zeros((), dtype=torch.uint8, **cpu), torch.zeros(31, 2, dtype=torch.float32, "
    "device='meta'),\n"
    "        torch.frombuffer(bytearray(59 * 4), dtype=torch.int32)]\n" /* memory that another object owns */
    "    for n, t in enumerate(plain[2:6]):\n"
    "        for _ in range(3 * n + 2): t.zero_()\n"
    "    leaves = [torch.zeros(37 + n, dtype=torch.float32, requires_grad=True, **cpu) for n in range(4)]\n"
    "    for t in leaves[:2]: t.grad = torch.ones_like(t)\n"
    "    inner = [leaves[0] * 2, leaves[1].exp(), leaves[2][3:]]\n"
    "    inner[1].retain_grad()\n"
    "    for n in range(2):\n"
    "        unset.append(torch.zeros(53 + n, dtype=torch.float64, requires_grad=True, "
    "**cpu).requires_grad_(False))\n"
    "tensors = (*plain, *leaves, *inner, *unset)\n"
    "def samples():\n"
    "    with torch.inference_mode(False): return [describe(t) for t in tensors]\n"
    "def change():\n"
    "    with torch.inference_mode(False), torch.enable_grad():\n"
    "        leaves[0].grad, leaves[2].grad = None, torch.ones_like(leaves[2])\n"
    "        unset.pop().requires_grad_()\n"
    "        inner[0].detach_()\n"
    "        for t in (*leaves[1:3], inner[0]): unset.append(t.requires_grad_(False))\n"
    "devices = [(torch.device('cpu'), 0, -1), (torch.device('cuda', 3), 1, 3)]\n";

typedef struct {
    uint8_t impl[IMPL_BYTES], storage[STORAGE_BYTES], meta[META_BYTES];
    size_t impl_got, storage_got, meta_got;
    uint64_t pyobj, storage_ptr, data, nbytes, ndim, offset, numel, version, keys, grad;
    int64_t sizes[MAX_DIMS], strides[MAX_DIMS];
    uint16_t dtype, device;
    int requires_grad, leaf, has_meta, has_storage_data;
} Sample;

static int memory_fd = -1;

static size_t read_memory(uint64_t address, void *out, size_t size)
{
    ssize_t got = memory_fd < 0 ? -1 : pread(memory_fd, out, size, (off_t)address);
    return got < 0 ? 0 : (size_t)got;
}

/* --- samples ----------------------------------------------------------------------------------------- */

static int get_u64(PyObject *properties, const char *name, uint64_t *out)
{
    PyObject *value = PyDict_GetItemString(properties, name);
    if (value == NULL) {
        PyErr_Format(PyExc_KeyError, "no property %s in a calibration sample", name);
        return -1;
    }
    *out = PyLong_AsUnsignedLongLongMask(value);
    return PyErr_Occurred() ? -1 : 0;
}

static int get_dims(PyObject *properties, const char *name, int64_t *out)
{
    PyObject *dims = PyDict_GetItemString(properties, name);
    for (Py_ssize_t i = 0; dims != NULL && i < PyTuple_GET_SIZE(dims) && i < MAX_DIMS; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(dims, i));
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* torch.dtype keeps its ScalarType behind the object head (THPDtype); torch.device its type and index
 * (THPDevice). */
static uint16_t device_bits(PyObject *device)
{
    return *(uint16_t *)((char *)device + sizeof(PyObject));
}
static uint8_t dtype_code(PyObject *dtype)
{
    return *(uint8_t *)((char *)dtype + sizeof(PyObject));
}

static int read_flags(PyObject *properties, Sample *sample)
{
    sample->requires_grad = PyDict_GetItemString(properties, "requires") == Py_True;
    sample->leaf = PyDict_GetItemString(properties, "leaf") == Py_True;
    sample->has_meta = PyDict_GetItemString(properties, "meta") == Py_True;
    sample->device = device_bits(PyDict_GetItemString(properties, "device"));
    sample->dtype = dtype_code(PyDict_GetItemString(properties, "dtype"));
    return 0;
}

static int read_sample(PyObject *item, Sample *sample)
{
    PyObject *properties = PyTuple_GetItem(item, 1);
    uint64_t impl;
    if (properties == NULL || get_u64(properties, "impl", &impl) < 0
        || get_u64(properties, "pyobj", &sample->pyobj) < 0
        || get_u64(properties, "storage", &sample->storage_ptr) < 0
        || get_u64(properties, "data", &sample->data) < 0
        || get_u64(properties, "nbytes", &sample->nbytes) < 0
        || get_u64(properties, "ndim", &sample->ndim) < 0
        || get_u64(properties, "offset", &sample->offset) < 0
        || get_u64(properties, "numel", &sample->numel) < 0
        || get_u64(properties, "version", &sample->version) < 0
        || get_u64(properties, "keys", &sample->keys) < 0 || get_u64(properties, "grad", &sample->grad) < 0
        || get_dims(properties, "sizes", sample->sizes) < 0
        || get_dims(properties, "strides", sample->strides) < 0 || read_flags(properties, sample) < 0) {
        return -1;
    }
    if (*(uint64_t *)tensor_handle(PyTuple_GET_ITEM(item, 0)) != impl) {
        return 1; /* the object does not hold its TensorImpl where tensor_handle() looks: nothing can work */
    }
    sample->impl_got = read_memory(impl, sample->impl, IMPL_BYTES);
    sample->storage_got = read_memory(sample->storage_ptr, sample->storage, STORAGE_BYTES);
    return 0;
}

/* --- search: the only offset that fits all samples, else -1 ------------------------------------------ */

typedef int (*Fits)(const Sample *sample, int offset);

static int find(const Sample *samples, int count, int limit, int step, Fits fits)
{
    int found = -1;
    for (int offset = 0; offset < limit; offset += step) {
        int all = 1;
        for (int i = 0; i < count && all; i++) {
            all = fits(&samples[i], offset);
        }
        if (all && found >= 0) {
            return -1;
        }
        found = all ? offset : found;
    }
    return found;
}

static uint64_t word(const uint8_t *bytes, int offset)
{
    uint64_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static int in_impl(const Sample *s, int offset, int size)
{
    return (size_t)(offset + size) <= s->impl_got;
}

static int fits_storage(const Sample *s, int o)
{
    return in_impl(s, o, 8) && word(s->impl, o) == s->storage_ptr;
}
static int fits_pyobj(const Sample *s, int o)
{
    return in_impl(s, o, 8) && word(s->impl, o) == s->pyobj;
}
static int fits_ndim(const Sample *s, int o)
{
    return in_impl(s, o, 8) && word(s->impl, o) == s->ndim;
}
static int fits_offset(const Sample *s, int o)
{
    return in_impl(s, o, 8) && word(s->impl, o) == s->offset;
}
static int fits_numel(const Sample *s, int o)
{
    return in_impl(s, o, 8) && word(s->impl, o) == s->numel;
}
static int fits_keys(const Sample *s, int o)
{
    return in_impl(s, o, 8) && word(s->impl, o) == s->keys;
}
static int fits_meta(const Sample *s, int o)
{
    return in_impl(s, o, 8) && (word(s->impl, o) != 0) == s->has_meta;
}

static int fits_u16(const Sample *s, int o, uint16_t expected)
{
    return in_impl(s, o, 2) && memcmp(s->impl + o, &expected, 2) == 0;
}
static int fits_dtype(const Sample *s, int o)
{
    return fits_u16(s, o, s->dtype);
}
static int fits_device(const Sample *s, int o)
{
    return fits_u16(s, o, s->device);
}

/* Up to 5 dims stand in the TensorImpl itself. More dims stand behind a pointer, sizes before strides. */
static int fits_dims(const Sample *s, int o, const int64_t *dims)
{
    if (s->ndim <= 5) {
        return in_impl(s, o, 40) && memcmp(s->impl + o, dims, 8 * s->ndim) == 0;
    }
    return 1;
}
static int fits_sizes(const Sample *s, int o)
{
    int64_t outside[2 * MAX_DIMS];
    if (!in_impl(s, o, 40) || s->ndim <= 5) {
        return fits_dims(s, o, s->sizes);
    }
    size_t bytes = 8 * s->ndim;
    return read_memory(word(s->impl, o), outside, 2 * bytes) == 2 * bytes
           && memcmp(outside, s->sizes, bytes) == 0 && memcmp(outside + s->ndim, s->strides, bytes) == 0;
}
static int fits_strides(const Sample *s, int o)
{
    return fits_dims(s, o, s->strides);
}

static int version_offset; /* the offset inside VersionCounter, while the pointer to it is searched */
static int fits_version(const Sample *s, int o)
{
    uint32_t version;
    return in_impl(s, o, 8) && read_memory(word(s->impl, o) + (uint64_t)version_offset, &version, 4) == 4
           && version == s->version;
}

static int fits_data(const Sample *s, int o)
{
    return (size_t)o + 8 <= s->storage_got && word(s->storage, o) == s->data;
}
static int fits_nbytes(const Sample *s, int o)
{
    return (size_t)o + 8 <= s->storage_got && word(s->storage, o) == s->nbytes;
}

static int in_meta(const Sample *s, int o, int size)
{
    return (size_t)(o + size) <= s->meta_got;
}
static int fits_grad(const Sample *s, int o)
{
    return !s->has_meta || s->grad == 0 || (in_meta(s, o, 8) && word(s->meta, o) == s->grad);
}
static int fits_grad_fn(const Sample *s, int o)
{
    return !s->has_meta || (in_meta(s, o, 8) && (word(s->meta, o) == 0) == s->leaf);
}
static int fits_requires(const Sample *s, int o)
{
    return !s->has_meta || (in_meta(s, o, 1) && s->meta[o] == (s->requires_grad && s->leaf));
}

/* --- the whole --------------------------------------------------------------------------------------- */

static void search_version(const Sample *samples, int count, TensorOffsets *out)
{
    out->version_counter = -1;
    for (version_offset = 0; version_offset <= 32; version_offset += 4) {
        int found = find(samples, count, IMPL_BYTES, 8, fits_version);
        if (found >= 0 && out->version_counter >= 0) {
            out->version_counter = -1; /* there are two ways to read it */
            return;
        }
        if (found >= 0) {
            out->version_counter = found;
            out->version_value = version_offset;
        }
    }
}

static void search_meta(const Sample *samples, int count, TensorOffsets *out)
{
    out->meta_grad = find(samples, count, META_BYTES, 8, fits_grad);
    out->meta_grad_fn = find(samples, count, META_BYTES, 8, fits_grad_fn);
    out->meta_requires = find(samples, count, META_BYTES, 1, fits_requires);
}

static const char *search(const Sample *samples, int count, TensorOffsets *out)
{
    out->storage = find(samples, count, IMPL_BYTES, 8, fits_storage);
    out->autograd_meta = find(samples, count, IMPL_BYTES, 8, fits_meta);
    out->pyobj = find(samples, count, IMPL_BYTES, 8, fits_pyobj);
    out->ndim = find(samples, count, IMPL_BYTES, 8, fits_ndim);
    out->sizes = find(samples, count, IMPL_BYTES, 8, fits_sizes);
    out->strides = find(samples, count, IMPL_BYTES, 8, fits_strides);
    out->storage_offset = find(samples, count, IMPL_BYTES, 8, fits_offset);
    out->numel = find(samples, count, IMPL_BYTES, 8, fits_numel);
    out->dtype = find(samples, count, IMPL_BYTES, 2, fits_dtype);
    out->device = find(samples, count, IMPL_BYTES, 2, fits_device);
    out->keys = find(samples, count, IMPL_BYTES, 8, fits_keys);
    out->storage_data = find(samples, count, STORAGE_BYTES, 8, fits_data);
    out->storage_nbytes = find(samples, count, STORAGE_BYTES, 8, fits_nbytes);
    search_version(samples, count, out);
    search_meta(samples, count, out);
    const struct {
        int offset;
        const char *name;
    } all[] = {
        {out->storage, "storage"},
        {out->autograd_meta, "autograd_meta"},
        {out->pyobj, "pyobj"},
        {out->ndim, "ndim"},
        {out->sizes, "sizes"},
        {out->strides, "strides"},
        {out->storage_offset, "storage_offset"},
        {out->numel, "numel"},
        {out->dtype, "dtype"},
        {out->device, "device"},
        {out->keys, "keys"},
        {out->storage_data, "storage data"},
        {out->storage_nbytes, "storage nbytes"},
        {out->version_counter, "version"},
        {out->meta_grad, "grad"},
        {out->meta_grad_fn, "grad_fn"},
        {out->meta_requires, "requires_grad"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].offset < 0) {
            return all[i].name;
        }
    }
    return NULL;
}

/* torch.device keeps (type, index) where device_bits() reads them. */
static int devices_as_expected(PyObject *devices)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(devices); i++) {
        PyObject *device;
        int type, index;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(devices, i), "Oii", &device, &type, &index)) {
            return -1;
        }
        if (device_bits(device) != (uint16_t)((uint8_t)type | (uint8_t)index << 8)) {
            return 0;
        }
    }
    return 1;
}

/* Appends the samples as they are now. -1 with an exception. */
static int read_samples(PyObject *space, Sample *samples, int *count, const char **problem)
{
    PyObject *list = PyObject_CallNoArgs(PyDict_GetItemString(space, "samples"));
    int failed = list == NULL || !PyList_CheckExact(list);
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(list) && *count < MAX_SAMPLES; i++) {
        int status = read_sample(PyList_GET_ITEM(list, i), &samples[(*count)++]);
        failed = status < 0;
        *problem = status > 0 ? "TensorImpl pointer of the Python object" : *problem;
    }
    Py_XDECREF(list);
    return failed ? -1 : 0;
}

/* What AutogradMeta holds now. Without a place for it nothing is read, and nothing will fit. */
static void read_metas(Sample *samples, int from, int count)
{
    const int place = find(samples, count, IMPL_BYTES, 8, fits_meta);
    for (int i = from; i < count && place >= 0; i++) {
        if (samples[i].has_meta) {
            samples[i].meta_got = read_memory(word(samples[i].impl, place), samples[i].meta, META_BYTES);
        }
    }
}

/* The samples before and after their properties change. Their number, or -1 with an exception. */
static int read_twice(PyObject *space, Sample *samples, const char **problem)
{
    int before = 0;
    if (read_samples(space, samples, &before, problem) < 0) {
        return -1;
    }
    read_metas(samples, 0, before);
    PyObject *changed = PyObject_CallNoArgs(PyDict_GetItemString(space, "change"));
    int count = before;
    if (changed == NULL || read_samples(space, samples, &count, problem) < 0) {
        Py_XDECREF(changed);
        return -1;
    }
    Py_DECREF(changed);
    read_metas(samples, before, count);
    return count;
}

static int search_in(PyObject *space, TensorOffsets *out, const char **problem)
{
    Sample *samples = PyMem_Calloc(MAX_SAMPLES, sizeof(Sample));
    if (samples == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    const int known_devices = devices_as_expected(PyDict_GetItemString(space, "devices"));
    const int count = known_devices < 0 ? -1 : read_twice(space, samples, problem);
    if (count >= 0 && *problem == NULL) {
        *problem = known_devices ? search(samples, count, out) : "device type and index of torch.device";
    }
    PyMem_Free(samples);
    return count < 0 ? -1 : 0;
}

int tensor_calibrate(TensorOffsets *out, const char **problem)
{
    PyObject *space = PyDict_New();
    if (space == NULL || PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins()) < 0) {
        Py_XDECREF(space);
        return -1;
    }
    *problem = NULL;
    memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    PyObject *ran = PyRun_String(SAMPLE_CODE, Py_file_input, space, space);
    int status = ran == NULL ? -1 : search_in(space, out, problem);
    Py_XDECREF(ran);
    PyDict_Clear(space); /* `describe` refers to its own globals */
    Py_DECREF(space);
    if (memory_fd >= 0) {
        close(memory_fd);
        memory_fd = -1;
    }
    return status;
}
