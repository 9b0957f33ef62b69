"""Signatures with the defaults of the Rust library."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

from . import _dermis

_Function = TypeVar("_Function", bound=Callable[..., Any])
_DEFAULTS = _dermis.defaults()


def with_defaults(function: _Function) -> _Function:
    """`function` with a signature that shows the value of each option that is not given."""
    known = _DEFAULTS.get(function.__name__, {})
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(default=known[name]) if known.get(name) is not None else parameter
        for name, parameter in signature.parameters.items()
    ]

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return function(*args, **options)

    call.__module__ = "dermis"
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
