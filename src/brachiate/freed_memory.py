"""Freed memory: give it back to the operating system before a long computation that needs much memory of its own."""

from __future__ import annotations

import ctypes
import gc


def return_freed_memory() -> None:
    """Give back pages that hold no objects any more. The C library keeps them for arrays of the same size, which do not come."""
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim  # of glibc; others give memory back themselves, or cannot
    except (AttributeError, OSError, TypeError):
        return
    trim(ctypes.c_size_t(0))
