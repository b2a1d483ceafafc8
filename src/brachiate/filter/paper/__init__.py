"""The dynamics filter as its paper has it [DF] VII: pseudoinverses, and contact states by trial and error. To be compared with."""

from __future__ import annotations

from brachiate.filter.paper.filter import PaperFilter, Step
from brachiate.filter.paper.settings import Settings

__all__ = ["PaperFilter", "Settings", "Step"]
