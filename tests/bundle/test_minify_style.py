"""Style sheets in fewer characters, of the same rules."""

from __future__ import annotations

from webnn_compile.bundle.minify_style import minify_style


def test_before_and_after() -> None:
    text = """
    main > p,
    #a :empty {
      --line: 1px;
      color: light-dark(#000, #fff);
    }
    @media (max-width: 30rem) {
      p:hover {
        margin: 0 1em;
      }
    }
    """
    short = "main > p,#a :empty{--line:1px;color:light-dark(#000,#fff)}@media (max-width:30rem){p:hover{margin:0 1em}}"
    assert minify_style(text) == short
