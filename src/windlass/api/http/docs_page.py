"""/docs: the OpenAPI document as one plain page, without scripts and without the network."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Final

from windlass.api.http.reply import Reply
from windlass.api.http.security_headers import page

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2.5rem;border-bottom:1px solid #8886}summary{cursor:pointer;padding:.3rem 0}
code,pre{font:13px/1.4 ui-monospace,monospace}pre{background:#8881;padding:.7rem;overflow:auto}
.m{display:inline-block;width:4.5rem;font-weight:700}
td{padding:.1rem 1rem .1rem 0;vertical-align:top}
""".strip()


_SECURITY: Final = page(_STYLE)
_AUTH_OFF: Final = (
    "<p role='alert'><strong>Authentication is off</strong>: whoever reaches this address may do "
    "everything, without a key. <code>WINDLASS_AUTH=on</code> puts the lock back.</p>"
)


def reply(document: dict[str, Any], *, is_auth_off: bool = False) -> Reply:
    title = f"{document['info']['title']} {document['info']['version']}"
    return page_reply(title, _page(title, document, _AUTH_OFF if is_auth_off else ""))


def page_reply(title: str, body: str) -> Reply:
    """A page that needs nothing from elsewhere, and lets nothing in."""
    text = (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style>{body}</html>"
    )
    return Reply(text.encode(), 200, [(b"content-type", b"text/html; charset=utf-8")], _SECURITY)


def _page(title: str, document: dict[str, Any], warning: str) -> str:
    operations = [
        (operation["tags"][0], method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    tags = list(dict.fromkeys(tag for tag, *_ in operations))
    sections = [
        f"<h2>{escape(tag)}</h2>"
        + "".join(_operation(m, p, o) for found, m, p, o in operations if found == tag)
        for tag in tags
    ]
    named = "".join(
        f"<details id='{escape(name)}'><summary><code>{escape(name)}</code></summary>"
        f"{_json(schema)}</details>"
        for name, schema in document["components"]["schemas"].items()
    )
    return (
        f"<h1>{escape(title)}</h1>{warning}"
        "<p>Send <code>Authorization: Bearer wlk_…</code> with every request but those to "
        "<code>/health</code> and for this page. "
        "The same for machines: <a href='/openapi.json'>openapi.json</a>.</p>"
        f"{''.join(sections)}<h2>Schemas</h2>{named}"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(p['name'])}</code><td>{escape(p['in'])}"
        f"<td>{escape(p.get('description', ''))}"
        for p in operation.get("parameters", ())
    )
    body = operation.get("requestBody")
    shown_body = _json(body["content"]["application/json"]["schema"]) if body else ""
    answers = "".join(
        f"<tr><td>{escape(code)}<td>{escape(answer['description'])}"
        for code, answer in operation["responses"].items()
    )
    return (
        f"<details><summary><span class='m'>{method}</span><code>{escape(path)}</code> "
        f"{escape(operation['summary'])}</summary><p>{escape(operation.get('description', ''))}</p>"
        f"<table>{rows}</table>{shown_body}<table>{answers}</table></details>"
    )


def _json(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"
