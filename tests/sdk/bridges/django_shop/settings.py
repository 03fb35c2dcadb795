"""Settings of a project whose database is also Windlass's; the test says where that is."""

from __future__ import annotations

from typing import Any

import django

SECRET_KEY = "only for tests"
USE_TZ = True
TIME_ZONE = "UTC"
# From Django 6 on it has tasks itself, and needs no app for them.
INSTALLED_APPS = ["django_tasks"] if django.VERSION < (6,) else []
DATABASES: dict[str, dict[str, Any]] = {"default": {"ENGINE": "django.db.backends.postgresql"}}
BACKEND = "windlass.sdk.bridges.django_tasks.WindlassBackend"
TASKS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": BACKEND, "QUEUES": ["default", "mail"]},
    "in_transaction": {"BACKEND": BACKEND, "OPTIONS": {"database": "default"}},
    "again": {"BACKEND": BACKEND, "OPTIONS": {"max_attempts": 2}},
}
