"""A definition as a flowchart."""

from __future__ import annotations

from tests.model.workflow.definitions import document, read, step
from windlass.model.workflow.mermaid import to_mermaid


def test_every_step_and_need_is_drawn_and_nothing_in_a_text_is_markup() -> None:
    found = to_mermaid(
        read(
            document(
                step("end", title='Say "<b>#1</b>"'),
                step(
                    *("r", "switch"),
                    needs=["end"],
                    cases=[{"if": "${inputs.x > 1}", "go": ["a"]}, {"if": "${true}", "go": ["a"]}],
                    default=["b"],
                ),
                step("a", "map", items="${[1]}", step={"kind": "noop"}),
                step("b", needs=[{"step": "end", "when": "ended"}]),
                step("j", needs=["a", "b"], join="any", condition="${inputs.y}"),
            )
        )
    )
    assert found.splitlines() == [
        "flowchart TD",
        '    s_end["Say #quot;#lt;b#gt;#35;1#lt;/b#gt;#quot;<br/>noop"]',
        '    s_r{"r<br/>switch"}',
        '    s_a[["a<br/>map of noop"]]',
        '    s_b["b<br/>noop"]',
        '    s_j["j<br/>noop, 1 of 2 needed, if inputs.y"]',
        "    s_end --> s_r",
        '    s_r -- "inputs.x #gt; 1 or true" --> s_a',
        '    s_end -- "ended" --> s_b',
        '    s_r -- "otherwise" --> s_b',
        "    s_a --> s_j",
        "    s_b --> s_j",
    ]
