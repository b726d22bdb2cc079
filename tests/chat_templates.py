"""Chat templates, short forms of those that come with common models, and conversations for them."""

from __future__ import annotations

_TURNS = (
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
)

TEMPLATES = {
    "llama3": (
        "{% set loop_messages = messages %}{% for message in loop_messages %}"
        "{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'"
        "+ message['content'] | trim + '<|eot_id|>' %}"
        "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
        "{{ content }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
    ),
    "qwen2.5": """{%- if tools %}
    {{- '<|im_start|>system\\n' + (tools | tojson) }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first)
        or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {{- tool_call.arguments | tojson }}
        {%- endfor %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "gemma": (
        "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}"
        "{% endif %}{% for message in messages %}"
        + _TURNS
        + "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}"
        "{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"
    ),
    "mistral": (
        "{{ bos_token }}{% for message in messages %}"
        + _TURNS
        + "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
        "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}"
        "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"
    ),
    "phi3": (
        "{% for message in messages %}{% if message['role'] == 'system' %}"
        "{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}"
        "{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'assistant' %}"
        "{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"
    ),
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    "smollm2": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM<|im_end|>\\n' }}{% endif %}"
        "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
    ),
    "much": """{%- macro line(role, text) -%}
    [{{ role | upper }}] {{ text }}
{%- endmacro %}
{%- set ns = namespace(count=0, last='') %}
{%- if messages[0].role == 'system' %}
    {%- set system, rest = messages[0].content, messages[1:] %}
{%- else %}
    {%- set system, rest = none, messages %}
{%- endif %}
{{- bos_token }}{% if system is not none %}<s>{{ system.strip() }}</s>
{% endif %}
  {% for m in rest %}
  {% if m.content == '' %}{% continue %}{% endif %}
    {% set ns.count = ns.count + 1 %}{% set ns.last = m.role %}
    {{- line(m.role, m.content.split('</think>')[-1].lstrip('\\n') | trim) }}
{% generation %}{{ m.name | default('-') }}{% endgeneration %}

  {% endfor %}
{{- ns.count }}/{{ rest | length }} {{ 'u' if ns.last in ['user', 'system'] else 'a' }} {{ messages[-1] | tojson }}
{{- rest | selectattr('role', 'equalto', 'user') | list | length }}
{%- if pad_token is defined %}{{ pad_token }}{% endif %}
""",
}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

CONVERSATIONS = (
    [("user", "The quick brown fox")],
    [("system", "Be brief.\n"), ("user", ' hello <world> & "you"  ')],
    [("user", "Café déjà vu"), ("assistant", "<think>\nso\n</think>\n\n你好 🚀"), ("user", "don't\\n")],
    [("system", ""), ("user", "{{ messages }} {% raw %}"), ("assistant", ""), ("user", "1\n\n2")],
    [("assistant", "first"), ("user", "then")],
    [("user", "a"), ("user", "b")],
    [("tool", "7"), ("user", "x")],
)


def messages_of(conversation: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in conversation]
