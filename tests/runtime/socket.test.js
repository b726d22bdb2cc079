import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stayConnected } from '../../rpc/device_page/socket.js';

test('a malformed message closes the connection, with a reason as long as WebSocket allows', () => {
  /** @type {{ onmessage: (event: { data: ArrayBuffer }) => void } | undefined} */
  let opened;
  /** @type {[number, string] | undefined} */
  let closed;
  globalThis.WebSocket = /** @type {any} */ (
    class {
      constructor() {
        opened = /** @type {any} */ (this);
      }
      /**
       * @param {number} code
       * @param {string} reason
       */
      close(code, reason) {
        closed = [code, reason];
      }
    }
  );
  const never = () => assert.fail();
  stayConnected('ws://x', { hello: never, joined: never, message: never, lost: never });
  for (const [text, length] of /** @type {[string, number][]} */ ([
    ['x', 0],
    [`{"at":"${'漢'.repeat(90)}"}`, 120],
    [`{"at":"x${'漢'.repeat(90)}"}`, 120],
    [`{"at":"xx${'漢'.repeat(90)}"}`, 120],
  ])) {
    const header = new TextEncoder().encode(text);
    const frame = new Uint8Array(4 + header.length);
    new DataView(frame.buffer).setUint32(0, header.length, true);
    frame.set(header, 4);
    opened?.onmessage({ data: frame.buffer });
    assert.equal(closed?.[0], 4400);
    const bytes = new TextEncoder().encode(closed?.[1]).length;
    assert.ok(bytes > length && bytes <= 123, `${bytes}: ${closed?.[1]}`);
    assert.ok(!closed?.[1].includes('\ufffd'));
  }
});
