// What the page does for a search in the compiler's worker: loads its candidates, runs them, times them.

import { browserFacts } from '../../../rpc/device_page/browser_facts.js';
import { runRequests } from '../../../rpc/device_page/run_requests.js';
import { answerCalls, createMemory } from './page_calls.js';

export { stop } from './page_calls.js';

/** @typedef {import('../../../rpc/device_page/run_requests.js').Status} Status */

/**
 * The worker's end of the line, the facts of this browser, and what ends it all.
 * @param {(status: Status) => void} onStatus
 */
export async function measure(onStatus) {
  const { facts } = await browserFacts();
  const { port1, port2 } = new MessageChannel();
  const memory = createMemory();
  /** @type {Map<string, string>} addresses of files by hash, those of the model that is being loaded */
  let urls = new Map();
  const withdraw = () => {
    for (const url of urls.values()) URL.revokeObjectURL(url);
    urls = new Map();
  };
  const requests = runRequests(
    (sha256) => urls.get(sha256) ?? '',
    () => {},
    (status) => {
      try {
        onStatus(status);
      } catch (error) {
        reportError(error); // the caller's own, which ends no search
      }
    },
  );
  answerCalls(
    { port: port1, memory },
    (header, payload, reply) => {
      if (header.op !== 'load') {
        requests.answer({ header, payload }, reply);
        return;
      }
      let at = 0;
      for (const { sha256, bytes } of header.files) {
        urls.set(sha256, URL.createObjectURL(new Blob([payload.subarray(at, at + bytes)])));
        at += bytes;
      }
      requests.answer({ header, payload: new Uint8Array() }, (answer, parts) => {
        withdraw();
        return reply(answer, parts);
      });
    },
    () => requests.release(),
  );
  return {
    line: { port: port2, memory },
    facts,
    end() {
      port1.close();
      requests.release();
      withdraw();
    },
  };
}
