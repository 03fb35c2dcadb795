"""Windlass runs work that must not be lost."""

from __future__ import annotations

from windlass.sdk.app import App

__version__ = "0.1.0"
__all__ = ["App", "__version__"]
