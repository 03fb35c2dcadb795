"""/v1/ids/{text}: whose id begins so. For people, who type a few digits and mean one thing."""

from __future__ import annotations

from typing import Any, Final

from starlette.types import ASGIApp

from windlass import ids
from windlass.api.http.query import choices_param, read_short_text, short_text_schema
from windlass.api.http.reply import json_reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.http.shapes import INSTANT, TEXT, Named, listed, nullable, record, ref
from windlass.api.parts import ApiParts
from windlass.engine.id_matches import NOUNS, IdMatch, find_matches
from windlass.errors import InvalidInput
from windlass.limits import ID_MATCHES_MAX, NAME_CHARS_MAX


def match_view(found: IdMatch) -> dict[str, Any]:
    return {
        "id": ids.show(found.noun, found.id),
        "noun": found.noun,
        "name": found.name,
        "state": found.state,
        "created_at": found.created_at,
    }


def routes(parts: ApiParts) -> list[Route]:
    async def get(request: Call, query: dict[str, Any]) -> ASGIApp:
        try:
            text = read_short_text(request.path_params["text"], NAME_CHARS_MAX)
        except ValueError as trouble:
            raise InvalidInput.at("{text}", str(trouble)) from None
        nouns = tuple(dict.fromkeys(query.get("noun", NOUNS)))
        found = await find_matches(parts.database, nouns, text, ID_MATCHES_MAX + 1)
        shown = [match_view(one) for one in found[:ID_MATCHES_MAX]]
        return json_reply({"matches": shown, "has_more": len(found) > ID_MATCHES_MAX})

    return [
        Route(
            method="GET",
            path="/v1/ids/{text:str}",
            needs="jobs:read",
            handle=get,
            summary="Find what the first digits of an id can mean, or the name of a node",
            tag="Ids",
            path_schemas={"text": short_text_schema(NAME_CHARS_MAX)},
            query=(choices_param("noun", NOUNS, "Things of one of these nouns"),),
            answers={200: Answer(description="What it can mean", schema=ref("IdMatches"))},
            description=(
                "With or without the prefix of the noun: `job_01a1e0` or `01a1e0`. Newest first, "
                f"and no more than {ID_MATCHES_MAX}. Nodes are found by their name as well; dead "
                "ones only when no living one is meant."
            ),
        )
    ]


SCHEMAS: Final[Named] = {
    "IdMatches": record(matches=listed(ref("IdMatch")), has_more={"type": "boolean"}),
    "IdMatch": record(
        id=TEXT,
        noun={"type": "string", "enum": list(NOUNS)},
        name=TEXT,
        state=nullable(TEXT),
        created_at=INSTANT,
    ),
}
