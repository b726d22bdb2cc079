// Whether a device is large enough for a program.
import { UnsupportedError } from '../errors.js';

/**
 * The device's value of each limit.
 * @param {Record<string, number>} needs
 * @param {(name: string) => number} limitOf the device
 * @param {(have: number) => string} say who has so much
 * @throws {UnsupportedError}
 */
export function checkLimits(needs, limitOf, say) {
  const limits = Object.entries(needs).map(([name, need]) => {
    const have = Number(limitOf(name));
    if (need > have) throw new UnsupportedError('limits', `the model needs ${name} ${need}, ${say(have)}`);
    return [name, have];
  });
  return /** @type {Record<string, number>} */ (Object.fromEntries(limits));
}
