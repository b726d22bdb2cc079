"""Scripts in fewer characters: what they are called, and that they do what they did."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest
from webnn_compile.bundle.find_variables import find_variables
from webnn_compile.bundle.link_runtime import read_runtime
from webnn_compile.bundle.merge_modules import parse_module
from webnn_compile.bundle.minify_script import minify_script, minify_scripts
from webnn_compile.bundle.read_script import Role, read_script
from webnn_compile.errors import InternalError

NODE = pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js to run scripts")


@pytest.mark.parametrize(
    ("source", "short"),
    [
        ("const value = 1; return value + value;", "let t=1;return t+t;"),
        ("const f = ({ x, y: z = x }) => ({ x, z: z.x });", "let t=({x:t,y:e=t})=>({x:t,z:e.x});"),
        ("for (const [key, value] of list) use(key, value);", "for(let[t,e]of list)use(t,e);"),
        ("const text = `of ${text2} {\n   text: ${[1].map((text2) => text2)}`;", None),
        ("const name = 'name'; return { name, [name]: a?.name };", "let t='name';return{name:t,[t]:a?.name};"),
        ("class Box { size = 1; static of(size) { return new Box(size); } }", None),
        ("const half = x / 2 / y, slash = /[/'\"]{/g.test(half);", "let t=x/2/y,e=/[/'\"]{/g.test(t);"),
        ("const a = b ? { c: d } : e; switch (a) { case 1: { f(); } }", None),
        ("try { go(); } catch (error) { throw error; }", "try{go()}catch(t){throw t}"),
        ("const near = i - -1, far = i + +1; while (next()) ;", "let t=i- -1,e=i+ +1;while(next());"),
        ("async function run(step) { for await (const part of step) yield part; }", None),
        ("return new URL(/* webpackIgnore: true */ path);", "return new URL(/* webpackIgnore: true */path);"),
        ("const f = (one) => one, g = async (one) => f(one);", "let t=t=>t,e=async e=>t(e);"),
        ("const f = ({ a }) => a, g = (...all) => all, h = (x = 1) => x;", None),
        ("run((one) => one, (one, two) => one);\nreturn\n(one) => one;", "run(t=>t,(t,e)=>t);return\n(t)=>t;"),
        ("return [1, [2, ], { three, }, f(4, ), [, ], [5, , ]];", "return[1,[2],{three},f(4),[,],[5,,]];"),
        ("return Number.NaN < Number.POSITIVE_INFINITY - Number.MAX_VALUE;", "return NaN<Infinity-Number.MAX_VALUE;"),
        ("return [Number\n.NaN, one.Number.NaN, { Number: 1 }];", "return[NaN,one.Number.NaN,{Number:1}];"),
        ("const a = []; const b = 2; let c; let d; use(a, c);", "let t=[],n=2,e,r;use(t,e);"),
        ("const a = 1; for (const b of c) use(b); const d = 2;", "let t=1;for(let t of c)use(t);let e=2;"),
        ("return [a ?? undefined, a.undefined, { undefined: 1 }];", "return[a??void 0,a.undefined,{undefined:1}];"),
        ("if (a) return undefined; return undefined ?? b;", "if(a)return;return void 0??b;"),
        ("const f = () => { return undefined; }; f(undefined);", "let t=()=>{return};t(void 0);"),
        ("const SIDE = 5; const TEXT = 'a'; return { SIDE, [TEXT]: x }", "return{SIDE:5,['a']:x}"),
        (
            "const ONE = 1; let a; const TWO = 2; let b; run(a, b); const x = TWO in ONE;",
            "let e,r;run(e,r);let i=2 in 1;",
        ),
        ("for (const ONE = 1, b = 2; ; ) run(ONE);", "for(let t=1,e=2;;)run(t);"),
        ("const ONE = 1; const TWO = 2; const SIX = 6; run(ONE.x, TWO ** 2, SIX);", "let t=1,e=2;run(t.x,e**2,6);"),
        ("run()\nconst ONE = 1;\nrun(ONE)", "run();run(1)"),
        ("f = function () {}\nconst ONE = 1;\n(ONE + f)();", "f=function(){};(1+f)();"),
        ("// A comment.\nreturn /** @type {A} */ (x); // and 'another'", "return(x);"),
    ],
)
def test_before_and_after(source: str, short: str | None) -> None:
    made = minify_script(source)
    assert short is None or made == short
    assert len(made) < len(source)


def test_each_scope_has_names_of_its_own() -> None:
    source = "const one = (name) => name; const two = () => name; const three = (other) => other;"
    assert minify_script(source) == "let t=t=>t,e=()=>name,n=t=>t;"
    source = "const inner = 1; const f = (outer) => { const inner = outer; return (outer) => inner + outer; };"
    assert minify_script(source) == "let t=1,e=t=>{let e=t;return t=>e+t};"
    source = "function start(value, unused) { const other = value; return start(other); }"
    assert minify_script(source) == "function t(e,n){let r=e;return t(r)}"


def test_a_scope_ends_where_its_block_does() -> None:
    assert minify_script("{ const top = 1; } use(top);") == "{let t=1}use(top);"
    assert minify_script("for (const top of list) { use(top); } use(top);").endswith("use(top);")
    assert minify_script("list.map((top) => top, top);") == "list.map(t=>t,top);"
    assert minify_script("const c = a ? (top) => top : top;") == "let t=a?t=>t:top;"
    source = "const x = y; for (const x of all) if (x) { use(x); } else x(); x();"
    assert minify_script(source) == "let t=y;for(let t of all)if(t){use(t)}else t();t();"


def test_short_names_are_none_that_are_taken() -> None:
    made = minify_script("const first = t, second = n; return { first, second, c: do_it(d) };")
    assert made == "let e=t,r=n;return{first:e,second:r,c:do_it(d)};"


def test_scripts_in_one_scope_do_not_meet() -> None:
    one = ("const own = [1]; const shared = (own) => own + there;", (("shared", "$a"), ("there", "$b")))
    two = ("const own = [2]; const other = ({ shared }) => [own, shared, used];", (("used", "$a"),))
    assert minify_scripts((one, two)) == (
        "let e=[1],$a=t=>t+$b;let t=[2],n=({shared:e})=>[t,e,$a];"  # own is e here and t there
    )


def test_ends_of_lines_stay_where_statements_may_end_there() -> None:
    assert minify_script("run()\nnext\n  .then()\nreturn\nx") == "run()\nnext.then()\nreturn\nx"
    assert minify_script("if (x)\n  run();\nelse {\n}\n") == "if(x)run();else{}"


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
        ("for (const x of y) try { x(); } catch {}", "try as the body of a loop has no braces"),
        ("for (const x of /y/.exec(z)) x();", "a slash behind 'of'"),
        ("const g = 5;\n{ const f = function g() { return 1; };\n return g + f(); }", "is named g as what is around"),
        ("run(g, async function* g() {});", "is named g as what is around"),
        ("a: function g() {}\ng();", "no way to tell where function g is declared"),
        ("x = y\nfunction g() {}\ng();", "no way to tell where function g is declared"),
        ("run(x)\n{ const x = 1; }", r"no semicolon between run\(...\) and a block"),
        ("a.if(x)\n{ const x = 1; }", r"no semicolon between if\(...\) and a block"),
    ],
)
def test_what_leaves_meanings_open_is_refused(source: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        minify_script(source)


@pytest.mark.parametrize("other", ["class Box {}", "const box = new Box();", "const f = () => { return Box; };"])
def test_a_class_whose_name_another_script_has_is_refused(other: str) -> None:
    """Classes keep their names in the one scope of all."""
    box = ("class Box { size = 1; }\nconst box = new Box();", ())
    for parts in ((box, (other, ())), ((other, ()), box)):
        with pytest.raises(InternalError, match="the name of class Box"):
            minify_scripts(parts)
    with pytest.raises(InternalError, match="the name of class Box"):
        minify_scripts(((other, ()),), around=(box,))
    with pytest.raises(InternalError, match="the name of class Box"):
        minify_scripts((box, ("const t = 1;", (("t", "Box"),))))
    with pytest.raises(InternalError, match="the name of class Box"):
        minify_scripts((box,), taken=frozenset({"Box"}))
    made = minify_scripts((box, ("const f = () => new Box();", (("Box", "$a"),))))
    assert made.endswith("=()=>new $a();")


def test_top_names_are_none_that_are_taken() -> None:
    assert minify_scripts((("const a = 1, b = 2;", ()),), taken=frozenset({"t"})) == "let e=1,n=2;"


def test_texts_and_properties_of_the_runtime_stay() -> None:
    """In number and, but for numbers and texts that have names, in order, in each module."""
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
            if role is Role.KEYWORD:  # neighbouring declarations have become one, and undefined void 0
                kept, found = ([word for word in words if word not in ("const", "void")] for words in (kept, found))
            if role in (Role.NUMBER, Role.TEXT):
                voids = [sum(t.text == "void" for t in script.tokens) for script in (before, after)]
                zeros = ["0"] * (voids[1] - voids[0]) if role is Role.NUMBER else []
                kept, found = sorted([*kept, *zeros]), sorted(found)
            assert kept == found, name


def test_names_of_the_runtime_mean_what_they_did() -> None:
    """In each module: names that were one variable's are one variable's, but for those of numbers and texts that are
    used once, and those of none are the same."""
    inlined = 0
    for name, source in read_runtime().items():
        if name.endswith(".js"):
            body = parse_module(name, source).body
            script = read_script(body)
            firsts = [v.uses[0] for v in find_variables(body).variables if len(v.uses) == 2]
            short = [
                i
                for i in firsts
                if [script.text(j) for j in (i - 1, i + 1, i + 3)] == ["const", "=", ";"]
                and (script.role(i + 2) is Role.NUMBER or script.text(i + 2)[0] == "'")
            ]
            inlined += len(short)
            assert meanings(body, short) == meanings(minify_script(body)), name
    assert inlined > 30


def meanings(source: str, without: Sequence[int] = ()) -> list[int | str]:
    """For each name its variable, numbered in the order of first uses, or the name itself where it is of none;
    `without` variables that are declared by these tokens."""
    found = find_variables(source)
    numbers: dict[int, int] = {}
    meant: list[int | str] = []
    for i, token in enumerate(found.script.tokens):
        if (variable := found.at.get(i)) is not None:
            if found.variables[variable].uses[0] in without:
                continue
            meant.append(numbers.setdefault(variable, len(numbers)))
        elif token.role is Role.NAME and token.text not in ("let", "Number", "undefined"):
            meant.append(token.text.replace("Infinity", "POSITIVE_INFINITY"))
    return [name for name in meant if name not in ("NaN", "POSITIVE_INFINITY")]


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
@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("const o = { 'm'(t) { const b = 1;\n return b; } };\nreturn o.m(3);", "1"),
        ("const o = { 1(t) { const b = 1;\n return b; } };\nreturn o[1](3);", "1"),
        ("const x = 7, o = { [`a${x}`](x, t) { const b = 1;\n return x + b; } };\nreturn o.a7(3) + x;", "11"),
        (
            "const x = 7, o = { get ['a']() { return x; }, *'m'(x, t) { const y = x;\n yield y; } };\n"
            "return [...o.m(1), o.a];",
            "[1,7]",
        ),
        (
            "const x = 7; class Foo { *[Symbol.iterator](x) { const y = 1;\n yield y; } static 'a'(x) { return x; } }\n"
            "return [...new Foo(), Foo.a(2), x];",
            "[1,2,7]",
        ),
        ("const f = (Base) => class extends f.of(Base) { };\nf.of = (x) => x;\nreturn typeof f(Object);", '"function"'),
        ("return [1, 2].map(function inner(n) { const one = 1;\n return n > one ? inner(n - one) : n; });", "[1,1]"),
        ("const f = (count, size) => count++ / size / 2;\nreturn f(8, 2);", "2"),
        ("const f = (count, size) => count-- /size/ 2;\nreturn f(8, 2);", "2"),
        ("const o = { '/x/': 1 };\nreturn [/x/ in o, /x/g in o, 4 / o['/x/']];", "[true,false,4]"),
        ("const a = -3; let b = 1;\nreturn a < !--b;", "true"),
        ("const s = Symbol.for('a'), other = 1;\nreturn [String(s), other];", '["Symbol(a)",1]'),
        (
            "const o = { if: (x) => x, return: 2, const: [3], catch: (x) => x };\nconst a = o.if(1), b = o.return;\n"
            "o.const [0] = 4;\no.catch(a)\no.let = 5;\nreturn [a, b, o.const[0], o.let];",
            "[1,2,4,5]",
        ),
        (
            "const a = Int32Array.of(1), helper = 2;\nconst is = 'x' in { x: 1 }, other = 3;\nlet sum = 0;\n"
            "for (const x of Array.of(4, 5)) sum += x;\nfor (let i = Array.of(6)[0], j = 7; i; i -= 6) sum += j;\n"
            "return [a[0], helper, is, other, sum];",
            "[1,2,true,3,16]",
        ),
    ],
)
def test_what_forms_do_stays(source: str, result: str) -> None:
    for text in (source, minify_script(source)):
        run = f"console.log(JSON.stringify((() => {{{text}}})()))"
        done = subprocess.run(["node", "-e", run], capture_output=True, text=True)
        assert (done.stdout.strip(), done.stderr) == (result, ""), text


@NODE
def test_classes_keep_their_names() -> None:
    made = minify_script("class Fault extends Error {}\nfunction start(value) { throw new Fault(value); }\nstart(1);")
    done = subprocess.run(["node", "-e", made], capture_output=True, text=True)
    assert "Fault" in done.stderr
    assert "[eval]:2" in done.stderr  # its line
