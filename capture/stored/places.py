"""Where an object is found by its name: in a module that is imported already.

In:  a class, a function or another object with a name.
Out: `place_of(value)`: module and path, or None. `find(module, path)`: the object there.

    torch.nn.Linear.forward    ->    ("torch.nn.modules.linear", "Linear.forward")

No module but our own is imported, and no code of the program runs: names are looked up in the dicts of
modules and classes.
"""

from __future__ import annotations

import functools
import json
import re
import sys
import types
from typing import Any

import numpy
from torch.distributions.utils import lazy_property

from capture.policy import frame_filter
from codegen.stored.names import module_named
from guards.lookup import isinstance_raw

_CLASS_DICT: Any = type.__dict__["__dict__"]
_MODULE_DICT: Any = vars(types.ModuleType)["__dict__"]
_MODULE: Any = type.__dict__["__module__"]
_MRO: Any = type.__dict__["__mro__"]
_QUALNAME: Any = type.__dict__["__qualname__"]
HEAP_TYPE = 1 << 9

#: modules in which built-in functions and classes without a module are looked for
_BUILTINS = (
    "builtins", "types", "torch", "torch._C", "torch._C._nn", "torch._C._linalg", "torch._C._fft",
    "torch._C._special", "torch._C._sparse", "torch.nn.functional",
)  # fmt: skip

Place = tuple[str, str]

#: the path from a module to its class: some of torch's modules are objects of classes of their own
CLASS = "__class__"
#: what a class holds for a function -> the function
_FUNCTION_OF: dict[type, Any] = {
    staticmethod: lambda held: held.__func__,
    classmethod: lambda held: held.__func__,
    property: lambda held: held.fget,
    lazy_property: lambda held: held.__dict__["wrapped"],
}


def namespace_of(place: Any) -> dict[str, Any] | None:
    """The dict of a module or class."""
    if isinstance_raw(place, types.ModuleType):
        found: dict[str, Any] = _MODULE_DICT.__get__(place)
        return found
    return _CLASS_DICT.__get__(place) if isinstance_raw(place, type) else None


def find(module: str, path: str) -> Any:
    """The object, or None. A method is the plain function, a property is its getter."""
    place: Any = module_named(module)
    for name in path.split(".") if path else ():
        place = _part(place, name)
    function = _FUNCTION_OF.get(type(place))
    return place if function is None else function(place)


def _part(place: Any, name: str) -> Any:
    if name == CLASS and isinstance_raw(place, types.ModuleType):
        return type(place)
    namespace = namespace_of(place)
    return None if namespace is None else namespace.get(name)


def own_method(cls: Any, name: str) -> types.FunctionType | None:
    """The plain function that the class itself has under the name."""
    if not isinstance_raw(cls, type):
        return None
    held = _part(cls, name)
    function = _FUNCTION_OF[type(held)](held) if type(held) in _FUNCTION_OF else held
    return function if type(function) is types.FunctionType else None


def wrapped_at(module: str, path: str) -> list[types.FunctionType]:
    """The plain functions that the one at this place wraps, as `functools.wraps` and `lru_cache` tell."""
    found: list[types.FunctionType] = []
    place: Any = find(module, path)
    while type(place) in _DICT_OF and len(found) < _MOST_WRAPPED:
        place = _DICT_OF[type(place)].__get__(place).get("__wrapped__")
        if type(place) is types.FunctionType:
            found.append(place)
    return found


_MOST_WRAPPED = 16
_DICT_OF: dict[type, Any] = {
    cls: vars(cls)["__dict__"] for cls in (types.FunctionType, functools._lru_cache_wrapper)
}


def file_as_data(path: str) -> str | list[str]:
    """A file as the next process finds it, perhaps elsewhere: by the module that it was read for.

    A library may write modules of its own into files with names that are other ones in each process.
    """
    is_usual = path == _file_of("__main__") or frame_filter.origin_of(path).startswith(_FIXED)
    name = None if is_usual or not path.endswith(SUFFIX) else _files.module_of(path)
    return path if name is None or _file_of(name) != path else ["module", name]


SUFFIX = ".py"
#: beginnings of the origins of files that lie where Python and torch do
_FIXED = ("torch ", "standard library")


def file_from_data(data: str | list[str]) -> str:
    """Its path in this process."""
    return data if isinstance(data, str) else _file_of(data[1]) or f"<module {data[1]}>"


def files_in(text: str) -> list[list[str]]:
    """The modules whose files a JSON text names, with these files: where they have moved, it is wrong."""
    paths = {json.loads(found) for found in _PATHS.findall(text)}
    named = [(file_as_data(path), path) for path in sorted(paths)]
    return [[data[1], path] for data, path in named if not isinstance(data, str)]


_PATHS = re.compile(rf'"(?:[^"\\]|\\.)*{re.escape(SUFFIX)}"')


def are_there(files: list[list[str]]) -> bool:
    """Whether these modules have these files."""
    return all(_file_of(module) == path for module, path in files)


def _file_of(module: str) -> str | None:
    path = (namespace_of(sys.modules.get(module)) or {}).get("__file__")
    return path if type(path) is str else None


class _Files:
    """The modules of files. To look at all of them takes 1 ms, to see that they are the same 0.05 ms."""

    def __init__(self) -> None:
        self.modules: dict[str, str] = {}
        self.identities: tuple[int, ...] = ()  # of all modules, when they were looked at

    def module_of(self, path: str) -> str | None:
        if path not in self.modules:
            modules = sys.modules.copy()
            identities = tuple(map(id, modules.values()))
            if identities != self.identities:
                self.identities = identities
                self._look(modules)
        return self.modules.get(path)

    def _look(self, modules: dict[str, Any]) -> None:
        self.modules = {}
        for name, module in modules.items():
            is_module = issubclass(type(module), types.ModuleType)
            path = (_MODULE_DICT.__get__(module) or {}).get("__file__") if is_module else None
            if type(name) is str and type(path) is str and name != "__main__":
                self.modules[path] = min(name, self.modules.get(path, name))


_files = _Files()


def place_of(value: Any) -> Place | None:
    """Where `find` finds this very object."""
    for module, path in _candidates(value):
        if isinstance(module, str) and isinstance(path, str) and "<" not in path:
            found = find(module, path)
            if found is value:
                return module, path
    return None


def _candidates(value: Any) -> list[tuple[Any, Any]]:
    if isinstance_raw(value, types.ModuleType):
        return [((namespace_of(value) or {}).get("__name__"), "")]
    if isinstance_raw(value, type):
        module, path = class_name(value)
        own = [(module, CLASS)] if types.ModuleType in _MRO.__get__(value) else []
        others = [(other, name) for other in _BUILTINS for name in (path, _known_as(value))]
        return [(module, path), *own, *others]
    if type(value) in (types.FunctionType, functools._lru_cache_wrapper):
        return [(getattr(value, "__module__", None), getattr(value, "__qualname__", None))]
    if isinstance(value, (types.BuiltinFunctionType, *_DESCRIPTORS)):
        return _of_builtin(value)
    if is_function_of_numpy(value):
        return [(value.__module__, name) for name in dict.fromkeys((value.__name__, value.__qualname__))]
    return []


def is_function_of_numpy(value: Any) -> bool:
    """Whether its class is one of NumPy's functions. (Other libraries have functions of one of these.)"""
    drawing = sys.modules.get("numpy.random.mtrand")
    return type(value) in _OF_NUMPY or (drawing is not None and type(value) is type(drawing.RandomState.seed))


_DESCRIPTORS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_OF_NUMPY = (numpy.ufunc, type(numpy.sum))


def _of_builtin(value: Any) -> list[tuple[Any, Any]]:
    owner = getattr(value, "__objclass__", None)
    if owner is not None:
        return [(module, f"{path}.{value.__name__}") for module, path in _candidates(owner) if path]
    modules = (value.__module__, *_BUILTINS)
    return [(module, name) for module in modules for name in (value.__name__, value.__qualname__)]


@functools.cache
def _names_of_types() -> dict[type, str]:
    """The classes of Python that module `types` has under other names than their own."""
    return {value: name for name, value in vars(types).items() if isinstance(value, type)}


def _known_as(cls: type) -> str | None:
    return _names_of_types().get(cls) if not cls.__flags__ & HEAP_TYPE else None


def class_name(cls: type) -> Place:
    """Module and qualified name, past the properties of a metaclass."""
    return str(_MODULE.__get__(cls)), str(_QUALNAME.__get__(cls))


def is_module_of_torch(value: Any) -> bool:
    """Whether it is one of torch's modules. Some of them are objects of a class of torch's own."""
    if not isinstance_raw(value, types.ModuleType):
        return False
    place = place_of(value)
    return place is not None and all(
        name.startswith("torch.") for name in (place[0], class_name(type(value))[0])
    )


def is_covered(value: Any) -> bool:
    """Whether a version in each key covers the object: it belongs to Python, to torch or to capture."""
    if isinstance_raw(value, type) and not value.__flags__ & HEAP_TYPE:
        return True
    place = place_of(value)
    return place is not None and _is_covered(place[0])


def _is_covered(module: str) -> bool:
    namespace = namespace_of(sys.modules.get(module)) or {}
    path = namespace.get("__file__")
    if module == "_capture":
        return True
    if path is None:
        return module in sys.builtin_module_names or module.startswith("torch.")
    return frame_filter.origin_of(path).partition(" ")[0] in ("torch", "standard", "capture")
