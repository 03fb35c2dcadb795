"""A table that is too wide: what is shortened, cut and left out, and that ids stay of use."""

from __future__ import annotations

from tests.cli.things import numbered
from windlass.cli.limits import RANDOM_ID_DIGITS, TEXT_CHARS_LEAST, TIMED_ID_DIGITS
from windlass.cli.show.fit import Strip, cut, cut_middle, fit, folded, short_ids, width
from windlass.ids import uuid7_many

JOBS = [f"job_{one.hex}" for one in uuid7_many(3)]
NODE = "node_d3e586fd89ff4f01b7ee131da545382a"


def texts(chars: int) -> list[str]:
    return ["x" * chars] * 3


def test_an_id_keeps_the_digits_that_tell_it_apart_from_all_others_shown() -> None:
    found = short_ids([*JOBS, f"and {NODE},", numbered(1), numbered(2)])
    assert {len(found[one]) for one in JOBS} == {len("job_") + TIMED_ID_DIGITS}
    assert found[NODE] == NODE[: len("node_") + RANDOM_ID_DIGITS]
    assert len(set(found.values())) == len(found)
    assert all(whole.startswith(short) for whole, short in found.items())
    # Those that differ in their last digit alone are whole.
    assert found[numbered(1)] == numbered(1)


def test_prose_is_cut_before_ids_are_shortened_but_not_to_nothing() -> None:
    def shown(room: int) -> list[str]:
        table = [
            Strip(title="ID", cells=list(JOBS)),
            Strip(title="ERROR", cells=texts(200), is_prose=True),
        ]
        return fit(table, room).lines()[1][0]

    whole = width(JOBS[0]) + 2 + TEXT_CHARS_LEAST
    assert shown(whole) == [JOBS[0], "x" * (TEXT_CHARS_LEAST - 1) + "…"]
    short, error = shown(whole - 1)
    assert JOBS[0].startswith(short)
    assert len(short) < len(JOBS[0])
    assert len(error) > TEXT_CHARS_LEAST


def test_what_can_be_spared_is_left_out_first_and_named() -> None:
    table = [
        Strip(title="NAME", cells=texts(20)),
        Strip(title="ROLES", cells=texts(20), is_spare=True),
        Strip(title="EMPTY", cells=["", "", ""]),
        Strip(title="STATE", cells=texts(10)),
        Strip(title="CPU", cells=texts(5), is_spare=True),
    ]
    fitted = fit(table, 55)
    assert [strip.title for strip in fitted.strips] == ["NAME", "ROLES", "STATE"]
    assert fitted.left_out == ["CPU"]
    assert [strip.title for strip in fit(table, 14).strips] == ["NAME"]


def test_text_is_cut_by_the_columns_that_it_takes() -> None:
    assert cut("invoice", 4) == "inv…"
    assert cut_middle("billing.send_reminder", 9) == "bill…nder"
    for chars in range(2, 12):
        assert width(cut("邮件通知服务", chars)) <= chars
        assert width(cut_middle("邮件通知服务", chars)) <= chars
    assert width("e\u0301") == 1


def test_folded_text_loses_nothing_but_spaces() -> None:
    text = "duplicate key value violates unique constraint " + "x" * 30 + " 邮件通知服务"
    for chars in range(8, 40):
        lines = folded(text, chars)
        assert max(map(width, lines)) <= chars
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
