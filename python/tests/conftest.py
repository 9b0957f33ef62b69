"""Inputs that several tests use."""

from __future__ import annotations

import pytest

import dermis


@pytest.fixture(scope="session")
def gallop() -> dermis.MeshSequence:
    return dermis.load("sample:gallop").sequence()


@pytest.fixture(scope="session")
def skin(gallop: dermis.MeshSequence) -> dermis.Skin:
    return dermis.fit_skin(gallop, bones=12, rank=2, refine=8)


@pytest.fixture(scope="session")
def arm() -> dermis.Scene:
    return dermis.load("sample:arm")


@pytest.fixture(scope="session")
def body() -> dermis.Body:
    return dermis.build_body("sample:body")
