"""Examples of the documentation: docstrings, README, and the tutorial."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import dermis

REPOSITORY = Path(__file__).parent.parent.parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> list[str]:
    """Public functions and classes, and methods with examples."""
    public = [name for name in dermis.__all__ if not name.startswith("_")]
    names = [name for name in public if not inspect.ismodule(getattr(dermis, name))]
    for name in list(names):
        if inspect.isclass(getattr(dermis, name)):
            members = vars(getattr(dermis, name)).items()
            names += [f"{name}.{member}" for member, value in members if ">>>" in (getattr(value, "__doc__", None) or "")]
    return names


def value_of(name: str) -> object:
    value: object = dermis
    for part in name.split("."):
        value = inspect.getattr_static(value, part)
    return value


@pytest.mark.parametrize("name", documented())
def test_docstrings_have_examples_that_run(name, gallop, skin, arm, body, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.cleandoc(value_of(name).__doc__ or "")
    is_exception = inspect.isclass(value_of(name)) and issubclass(value_of(name), Exception)
    assert is_exception or ">>>" in text, f"{name} has no example"
    if "savefig" in text:
        pytest.importorskip("matplotlib").use("Agg")
    names = {"dermis": dermis, "np": np, "walk": gallop, "skin": skin, "arm": arm, "body": body}
    example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    messages: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=messages.append)
    assert result.failed == 0, "".join(messages)


@pytest.mark.parametrize("file", ["python/README.md", "README.md", "docs/tutorial.md"])
def test_python_blocks_run(file, tmp_path, monkeypatch):
    path = REPOSITORY / file
    if not path.exists():
        pytest.skip(f"{file} is not part of the package")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, file, "exec"), names)
