import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { commentText, literal, shellWord } from '../../compiler/compile_page/web/escape.js';

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

test('a name as a literal is the name', () => {
  for (const name of NAMES) {
    const text = literal(name);
    assert.equal(runInNewContext(text), name);
    assert.doesNotMatch(text, /[\p{C}\p{Zl}\p{Zp}]/u);
  }
});

test('a name in a comment ends none', () => {
  for (const name of NAMES) {
    assert.equal(runInNewContext(`1 // ${commentText(name)}`), 1);
    assert.equal(commentText(name).split(/[\n\r\u2028\u2029]/).length, 1);
  }
});

test('a name is one word of a shell, and nothing unseen', () => {
  for (const name of NAMES) {
    const word = shellWord(name);
    assert.equal(execFileSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8' }), name);
    assert.doesNotMatch(word, /[\p{C}\p{Zl}\p{Zp}]/u);
  }
});
