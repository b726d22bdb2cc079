"""Scripts in fewer characters: what they are called, and that they do what they did."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from webnn_compile.bundle.link_runtime import read_runtime
from webnn_compile.bundle.merge_modules import parse_module
from webnn_compile.bundle.minify_script import minify_script
from webnn_compile.bundle.read_script import Role, read_script
from webnn_compile.errors import InternalError

NODE = pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run scripts")


@pytest.mark.parametrize(
    ("source", "short"),
    [
        ("const value = 1; return value + value;", "const a=1;return a+a;"),
        ("const f = ({ x, y: z = x }) => ({ x, z: z.x });", "const c=({x:a,y:b=a})=>({x:a,z:b.x});"),
        ("for (const [key, value] of list) use(key, value);", "for(const[a,b]of list)use(a,b);"),
        ("const text = `of ${text2} {\n   text: ${[1].map((text2) => text2)}`;", None),
        ("const name = 'name'; return { name, [name]: a?.name };", "const b='name';return{name:b,[b]:a?.name};"),
        ("class Box { size = 1; static of(size) { return new Box(size); } }", None),
        ("const half = x / 2 / y, slash = /[/'\"]{/g.test(half);", "const a=x/2/y,b=/[/'\"]{/g.test(a);"),
        ("const a = b ? { c: d } : e; switch (a) { case 1: { f(); } }", None),
        ("try { go(); } catch (error) { throw error; }", "try{go()}catch(a){throw a}"),
        ("const near = i - -1, far = i + +1; while (next()) ;", "const b=i- -1,a=i+ +1;while(next());"),
        ("async function run(step) { for await (const part of step) yield part; }", None),
        ("return new URL(/* webpackIgnore: true */ path);", "return new URL(/* webpackIgnore: true */path);"),
        ("const f = (one) => one, g = async (one) => f(one);", "const b=a=>a,c=async a=>b(a);"),
        ("const f = ({ a }) => a, g = (...all) => all, h = (x = 1) => x;", None),
        ("run((one) => one, (one, two) => one);\nreturn\n(one) => one;", "run(a=>a,(a,b)=>a);return\n(a)=>a;"),
        ("return [1, [2, ], { three, }, f(4, ), [, ], [5, , ]];", "return[1,[2],{three},f(4),[,],[5,,]];"),
        ("return Number.NaN < Number.POSITIVE_INFINITY - Number.MAX_VALUE;", "return NaN<Infinity-Number.MAX_VALUE;"),
        ("return [Number\n.NaN, one.Number.NaN, { Number: 1 }];", "return[NaN,one.Number.NaN,{Number:1}];"),
        ("// A comment.\nreturn /** @type {A} */ (x); // and 'another'", "return(x);"),
    ],
)
def test_before_and_after(source: str, short: str | None) -> None:
    made = minify_script(source)
    assert short is None or made == short
    assert len(made) < len(source)


def test_a_name_that_is_global_somewhere_stays() -> None:
    source = "const one = (name) => name; const two = () => name; const three = (other) => other;"
    assert minify_script(source) == "const b=name=>name;const d=()=>name;const c=a=>a;"


def test_a_scope_ends_where_its_block_does() -> None:
    assert minify_script("{ const top = 1; } use(top);") == "{const top=1}use(top);"
    assert minify_script("for (const top of list) { use(top); } use(top);").endswith("use(top);")
    assert minify_script("list.map((top) => top, top);") == "list.map(top=>top,top);"
    assert minify_script("const c = a ? (top) => top : top;") == "const b=a?top=>top:top;"


def test_short_names_are_none_that_are_taken() -> None:
    made = minify_script("const first = a, second = b; return { first, second, c: do_it(d) };")
    assert made == "const c=a,e=b;return{first:c,second:e,c:do_it(d)};"


def test_ends_of_lines_stay_where_statements_may_end_there() -> None:
    assert minify_script("run()\nnext\n  .then()\nreturn\nx") == "run()\nnext.then()\nreturn\nx"
    assert minify_script("if (x)\n  run();\nelse {\n}\n") == "if(x)\nrun();else{}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("var x = 1;", "'var' has scopes of its own"),
        ("if (x) { y(); } /z/.test(x);", "a slash behind a block"),
        ("if (x) /z/.test(x);", "a slash behind a condition"),
        ("const x = [1);", "a bracket that ends nothing"),
        ("run(() => {", "a bracket without its end"),
        ("const x = 'open;", "no token"),
        ("x = { y z };", "neither a property nor a method"),
        ("const x = 1\nif (x) y();", "no semicolon behind const x"),
    ],
)
def test_what_leaves_meanings_open_is_refused(source: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        minify_script(source)


def test_texts_and_properties_of_the_runtime_stay() -> None:
    """In number and order, in each module."""
    for name, source in read_runtime().items():
        if not name.endswith(".js"):
            continue
        body = parse_module(name, source).body
        before, after = read_script(body), read_script(minify_script(body))
        for role in (Role.KEY, Role.TEXT, Role.PATTERN, Role.NUMBER, Role.KEYWORD):
            kept = [re.sub(r"\s*\n\s*", "\n", t.text) for t in before.tokens if t.role is role]
            found = [t.text for t in after.tokens if t.role is role]
            if role is Role.KEY:  # { a } has become { a: b }, and Number.NaN NaN
                kept = [t.text for t in before.tokens if t.role in (role, Role.SHORTHAND)]
                found = [t.text for t in after.tokens if t.role in (role, Role.SHORTHAND)]
                kept = [name for name in kept if name not in ("NaN", "POSITIVE_INFINITY")]
            assert kept == found, name


@NODE
def test_what_a_script_does_stays() -> None:
    source = r"""
      const { a: first, rest: [second, ...others], third = 3 } = { a: 1, rest: [2, 4, 5] };
      const object = { first, get sum() { return first + second; }, async *each(list) { yield* list; }, third };
      class Pair { #left; right = third; constructor(left) { this.#left = left; }
        static of(left) { return new Pair(left); } get both() { const { right } = this; return [this.#left, right]; } }
      outer: for (let index = 0; index < 9; index++) { for (const item of others) if (item === 5) continue outer; }
      const nested = `${others.map((item) => `<${item}>`).join(`, `)} ${{ first }.first}`;
      const fall = (depth = others.length) => (depth ? fall(depth - 1) : { depth });
      const label = first ? second ? 'both' : 'one' : 'none';
      const kinds = { if: 1, class: 2, [label]: 3, 'x-y': 4, 5: 5 };
      let { length } = others; length -= 1;
      const done = (() => { try { throw Error('e'); } catch ({ message }) { return message; }
        finally { length++; } })();
      const all = [object, object.sum, Pair.of(7).both, nested, fall(), label, kinds, length, done, /[/]\/b/g.source];
      return JSON.stringify(all);
    """
    runs = [f"console.log((() => {{{text}}})())" for text in (source, minify_script(source))]
    before, after = (
        subprocess.run(["node", "-e", text], capture_output=True, text=True, check=True).stdout for text in runs
    )
    assert before == after
    assert '"both"' in before


@NODE
def test_classes_and_functions_keep_their_names() -> None:
    made = minify_script("class Fault extends Error {}\nfunction start(value) { throw new Fault(value); }\nstart(1);")
    done = subprocess.run(["node", "-e", made], capture_output=True, text=True)
    assert "Fault" in done.stderr
    assert "at start " in done.stderr
