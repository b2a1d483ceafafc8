"""Dynamics filter as published [DF] VII, for comparison: pseudoinverses, and contact states by trial and error."""

from __future__ import annotations

from brachiate.deprecation import module_getattr
from brachiate.filter.paper.filter import PaperFilter, PaperStep
from brachiate.filter.paper.settings import PaperSettings

__all__ = ["PaperFilter", "PaperSettings", "PaperStep"]

__getattr__ = module_getattr(
    __name__,
    {
        "Settings": ("brachiate.filter.paper.PaperSettings", lambda: PaperSettings),
        "Step": ("brachiate.filter.paper.PaperStep", lambda: PaperStep),
    },
)
