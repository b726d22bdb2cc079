import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as namespace from '../../runtime-js/errors.js';

const errors = { ...namespace };
const { packError, unpackError } = errors;

test('an error crosses a message with its class, code and text', () => {
  for (const name of ['ModelError', 'DownloadError', 'IntegrityError', 'UnsupportedError', 'WorkerError', 'RunError']) {
    const back = unpackError(structuredClone(packError(new errors[name]('code', 'text'))));
    assert.ok(back instanceof errors[name]);
    assert.ok(back instanceof errors.ModelError);
    assert.deepEqual([back.name, back.code, back.message], [name, 'code', 'text']);
  }
});

test('other errors keep their text, and their class where it is built in', () => {
  assert.ok(unpackError(structuredClone(packError(new RangeError('long')))) instanceof RangeError);
  const back = unpackError(structuredClone(packError(new SyntaxError('odd'))));
  assert.deepEqual([back.constructor, back.message], [Error, 'odd']);
  assert.equal(unpackError(packError('thrown text')).message, 'thrown text');
});
