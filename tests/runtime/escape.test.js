import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { shellWord } from '../../compiler/compile_page/web/escape.js';

const NAMES = [
  'x',
  "it's",
  'a\\',
  "'); alert(1); ('",
  'line\nalert(1)',
  'line\r\u2028alert(1)\u2029alert(1)',
  '\u001b[2J',
  '\u202eevil',
  '$(touch evil)`touch evil`',
  '*/ ?\u003f/ --\u003e </script>',
  '{é}',
];

test('a name is one word of a shell, and nothing unseen', () => {
  for (const name of NAMES) {
    const word = shellWord(name);
    assert.equal(execFileSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8' }), name);
    assert.doesNotMatch(word, /[\p{C}\p{Zl}\p{Zp}]/u);
  }
});
