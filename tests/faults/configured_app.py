"""An App that has its own idea of how log lines look."""

from __future__ import annotations

import logging

from tests.faults.app import app as app

_formatter = logging.Formatter("theirs: %(message)s [%(job_id)s]", defaults={"job_id": "of no job"})
logging.basicConfig(level=logging.INFO, handlers=[logging.StreamHandler()])
logging.getLogger().handlers[0].setFormatter(_formatter)
