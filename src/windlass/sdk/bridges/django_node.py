"""What a node is given to perform the tasks of a Django project.

DJANGO_SETTINGS_MODULE=shop.settings windlass up --app windlass.sdk.bridges.django_node:app
"""

from __future__ import annotations

import django
from django.apps import apps

from windlass.sdk.bridges.django_app import app

if not apps.ready:
    django.setup()

__all__ = ["app"]
