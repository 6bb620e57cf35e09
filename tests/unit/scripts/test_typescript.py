"""TypeScript is read as its compiler reads it: strings, templates, regular expressions, functions."""

from __future__ import annotations

import pytest

from scripts.layout.typescript_reader import read_typescript
from scripts.layout.typescript_tokens import read_source

FUNCTIONS = """\
export async function declared<A, B extends { c: A }>(a: A): Promise<{ b: B }> {
  if (a) { return; }
}
class Some extends mixin(Other) {
  constructor(readonly a: number) {
    super();
  }
  get size(): number | undefined { return 1; }
  #hidden(a: string): a is "}" {
    return true;
  }
  abstract left(): { a: number };
  later = async () => {
    for (const one of all) { switch (one) { default: } }
  };
}
const arrow = (a: number): ((b: string) => void) => {
  return (b) => { console.log(`${a} {${() => { return "`"; }} }`); };
};
const given = run(one,
  () => {
  }, two);
const table = {
  method() {
    return /[/{]+/.test(text) ? a / b : c / d;
  },
  list: all.map((one) =>
    one.value
  ),
};
interface Shape { wake: () => void; make(): () => Shape }
function maker(): () => number {
  return one;
}
"""


def test_functions_have_their_names_and_lines() -> None:
    found = [(one.name, one.line, one.lines) for one in read_typescript(FUNCTIONS).functions]
    assert [one for one in found if one[2] > 1] == [
        ("declared", 1, 3),
        ("constructor", 5, 3),
        ("#hidden", 9, 3),
        ("later", 13, 3),
        ("arrow", 17, 3),
        ("run()", 21, 2),
        ("method", 24, 3),
        ("all()", 27, 2),
        ("maker", 32, 3),
    ]


def test_a_suite_of_tests_is_named_after_describe() -> None:
    text = 'describe("a", () => {\n});\ndescribe.each([1])("b", () => {\n});\n'
    assert [one.name for one in read_typescript(text).functions] == ["describe()", "describe()"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a / b / c", "name mark name mark name"),
        ("return /}/g;", "name regex mark"),
        ("(a) / 2", "mark name mark mark number"),
        ('\'}\' + "\\"{" // }', "string mark string"),
        ("`a${ {b: `}`} }c`", "template mark mark name mark template mark mark template"),
        ("x = /[/\\]]/", "name mark regex"),
        ("/* { */ a", "name"),
    ],
)
def test_a_bracket_counts_where_it_is_one(text: str, kinds: str) -> None:
    assert [token.kind for token in read_source(text).tokens] == kinds.split()


def test_brackets_that_do_not_fit_are_refused_with_their_line() -> None:
    with pytest.raises(ValueError, match="line 2"):
        read_source("(\n}")
    with pytest.raises(ValueError, match="line 1"):
        read_source("{\n")
