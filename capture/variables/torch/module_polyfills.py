"""The call of an nn.Module with forward hooks, without a look at the ids of the hooks.

In:  the module, its hooks, and the arguments.
Out: the result, as `nn.Module._call_impl` gives it.

Ids are numbers that the whole process counts. So two modules with the same hooks never have the same ids.
"""

from __future__ import annotations

import warnings
from typing import Any

from torch.nn.modules import module as nn_module


def call_with_hooks(module: Any, before: tuple[tuple[Any, bool], ...], args: Any, kwargs: Any) -> Any:
    """Calls a module without backward hooks, and without hooks that run after an exception.

    `before` has pairs: a hook, and whether it takes keywords.
    """
    result, started = None, []
    try:
        for hook, takes_keywords in before:
            if takes_keywords:
                given = hook(module, args, kwargs)
                if given is not None:
                    if not isinstance(given, tuple) or len(given) != 2:
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs),"
                            f" but got {given}."
                        )
                    args, kwargs = given
            else:
                given = hook(module, args)
                if given is not None:
                    args = given if isinstance(given, tuple) else (given,)
        result = module.forward(*args, **kwargs)
        for hook, takes_keywords in hooks_after(module):
            started.append(hook)
            given = hook(module, args, kwargs, result) if takes_keywords else hook(module, args, result)
            if given is not None:
                result = given
        return result
    except Exception:
        # A hook or `forward` may have registered such hooks since.
        if nn_module._global_forward_hooks_always_called or module._forward_hooks_always_called:
            call_behind_exception(module, args, kwargs, result, started)
        raise


def call_behind_exception(module: Any, args: Any, kwargs: Any, result: Any, started: list[Any]) -> None:
    of_all, of_module = nn_module._global_forward_hooks, module._forward_hooks
    always_of_all, always = (
        nn_module._global_forward_hooks_always_called,
        module._forward_hooks_always_called,
    )
    left = [(hook, False, "global module") for key, hook in of_all.items() if key in always_of_all]
    left += [
        (hook, key in module._forward_hooks_with_kwargs, "module")
        for key, hook in of_module.items()
        if key in always
    ]
    for hook, takes_keywords, kind in left:
        if any(hook is other for other in started):
            continue
        try:
            given = hook(module, args, kwargs, result) if takes_keywords else hook(module, args, result)
            if given is not None:
                result = given
        except Exception as error:
            warnings.warn(
                f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced"
                f" as another error was raised in forward: {error}",
                stacklevel=2,
            )


def hooks_after(module: Any) -> tuple[tuple[Any, bool], ...]:
    """The present forward hooks (`forward` may have changed them), and whether each takes keywords."""
    return by_id(module)


def by_id(module: Any) -> tuple[tuple[Any, bool], ...]:
    everywhere = nn_module._global_forward_hooks
    everywhere_with_keywords = nn_module._global_forward_hooks_with_kwargs
    with_keywords = module._forward_hooks_with_kwargs
    return tuple(
        [
            (hook, key in with_keywords or key in everywhere_with_keywords)
            for key, hook in (*everywhere.items(), *module._forward_hooks.items())
        ]
    )
