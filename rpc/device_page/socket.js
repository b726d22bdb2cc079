// A connection to the broker that reconnects: requests, notices, and replies to calls.

import { Assembler, encode } from './frames.js';

const VERSION = 1;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;
/** Codes with which the broker ends a connection for good. */
const FINAL = new Map([[4401, 'refused']]);
/** Bytes of UTF-8 that WebSocket allows for the reason of closing. */
const CLOSE_REASON = 123;
/** Bytes that wait to be sent, above which nothing is added. */
const HIGH_WATER = 32 * 2 ** 20;

/** @typedef {import('./frames.js').Header} Header */
/** @typedef {import('./frames.js').Message} Message */
/**
 * @typedef {object} Events
 * @property {() => Header} hello the first message; `op`, `version` and `id` are added
 * @property {(welcome: Header) => void} joined
 * @property {(message: Message, reply: (header: Header, parts?: Uint8Array[]) => Promise<void>) => void} message
 * @property {(why: { reason: string, delay: number | undefined }) => void} lost `delay` in milliseconds, until the next
 *   attempt; none follows where it is undefined
 */

/**
 * Stays connected until `stop()`; after a loss it waits twice as long each time, up to half a minute.
 * @param {string} url ws: or wss:
 * @param {Events} events
 */
export function stayConnected(url, events) {
  let delay = FIRST_DELAY;
  let stopped = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** @type {WebSocket | undefined} */
  let socket;

  const connect = () => {
    const opened = new WebSocket(url);
    socket = opened;
    opened.binaryType = 'arraybuffer';
    const assembler = new Assembler();
    let id = 0;
    let welcomed = false;
    /** @type {Promise<void>} */
    let sending = Promise.resolve();

    /**
     * One message after the other, each when the one before has left.
     * @param {Header} header
     * @param {Uint8Array[]} [parts]
     */
    const send = (header, parts = []) => {
      sending = sending.then(async () => {
        for (const frame of encode({ ...header, id: id++ }, parts)) {
          while (opened.readyState === WebSocket.OPEN && opened.bufferedAmount > HIGH_WATER) await pause(5);
          if (opened.readyState !== WebSocket.OPEN) return;
          opened.send(frame);
        }
      });
      return sending;
    };

    opened.onopen = () => send({ op: 'hello', version: VERSION, ...events.hello() });
    opened.onmessage = ({ data }) => {
      /** @type {Message | undefined} */
      let message;
      try {
        message = assembler.feed(data);
      } catch (error) {
        opened.close(4400, closeReason(String(error)));
        return;
      }
      if (!message) return;
      if (!welcomed) {
        welcomed = true;
        delay = FIRST_DELAY;
        events.joined(message.header);
        return;
      }
      const { id: re } = message.header;
      events.message(message, (header, parts) => send({ ...header, re }, parts));
    };
    opened.onclose = ({ code, reason }) => {
      if (stopped) return;
      const final = FINAL.has(code);
      events.lost({ reason: reason || 'the broker does not answer', delay: final ? undefined : delay });
      if (final) return;
      timer = setTimeout(connect, delay);
      delay = Math.min(2 * delay, LONGEST_DELAY);
    };
  };

  connect();
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      socket?.close(1000);
    },
  };
}

/**
 * The text, cut at a character.
 * @param {string} text
 */
const closeReason = (text) =>
  new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, CLOSE_REASON), { stream: true });

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
