// What a device computes of constants at load: each launch as soon as its shader is compiled and what it reads is there.
import { at } from './device_program.js';

/**
 * @param {Pick<import('./device_program.js').Program, 'constants' | 'launches' | 'prepare'>} program
 */
export function prepareInOrder({ constants, launches, prepare }) {
  const missing = new Set(constants.map(({ value }) => value));
  const waiting = prepare.flatMap((step) => (Array.isArray(step) ? numbersOf(step) : []));
  /** @type {Promise<unknown>[]} */
  const started = [];
  /** @type {((launches: import('./device_program.js').Started[]) => Promise<unknown>) | undefined} */
  let launch;
  const proceed = () => {
    // What an earlier one computes is there, for they are carried out in order.
    const blocked = waiting.findIndex((number) => at(launches, number).arguments.some((value) => missing.has(value)));
    const ready = launch ? waiting.splice(0, blocked < 0 ? waiting.length : blocked) : [];
    if (!launch || !ready.length) return;
    const promise = launch(ready.map((number) => ({ number, scalars: [] })));
    promise.catch(() => {}); // `done` throws it
    started.push(promise);
  };
  return {
    /** @param {number} value that the device has now */
    onConstant(value) {
      missing.delete(value);
      proceed();
    },
    /** @param {NonNullable<typeof launch>} carryOut */
    onCompiled(carryOut) {
      launch = carryOut;
      proceed();
    },
    /** All launches are carried out, or an error of one of them is thrown. */
    done: () => Promise.all(started),
  };
}

/** @param {readonly [first: number, end: number]} range */
const numbersOf = ([first, end]) => Array.from({ length: end - first }, (_, i) => first + i);
