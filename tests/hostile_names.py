"""Names that a model may have, and that mean something in the languages which the compiler writes."""

from __future__ import annotations

RUNS = "WEBNN_NAME_RAN"
"""Marker that is defined, printed or set where a name becomes code."""

C_CODE = f'__attribute__((constructor)) static void {RUNS}(void) {{ extern int puts(const char *); puts("{RUNS}"); }}'
JS_CODE = f"globalThis.{RUNS} = true"

NAMES = (
    f"*/ {C_CODE} /*",
    f"*\\\n/ {C_CODE} /*",
    f"x */\n{C_CODE}\n//",
    f"??/\n{C_CODE}",
    "*??/\n/",
    f"\n{C_CODE}\n#define y",
    f"x\r{C_CODE}",
    f'"; {C_CODE} "',
    "quote \" ' ` back \\",
    "\\",
    "/",
    "*",
    "?",
    f"*/; {JS_CODE}; /*",
    f"'; {JS_CODE}; '",
    f'"}}; {JS_CODE}; ({{"',
    f"${{{JS_CODE}}}`${{{JS_CODE}}}",
    f"\u2028{JS_CODE}\u2029{JS_CODE}\x85{JS_CODE}",
    f"-->\n{JS_CODE}<!--",
    f"</script><script>{JS_CODE}</script>",
    f'"><img src=x onerror="{JS_CODE}">',
    "<!-- <script> ]]> &lt; &amp;",
    "{{name}}",
    "name_ NAME_STRING NAME_PREFIX",
    "\x1b[2J\x1b]0;title\x07\x9b31m\b\x7f",
    "[bold red]markup[/bold red] [link=https://example.invalid]x[/link] :boom: [/]",
    "\u202eright\u2066 to\u2069 left\u200b\ufeff",
    "\x00nul",
    "%s %n {} {0} $(touch x) `touch x` ; | & > #",
    "__proto__",
    "constructor",
    "",
    " ",
    "größe 大 \U0001f4a5",
    "x" * 3000,
)
