// Software adapters, which browsers have on machines without a GPU: wasm is many times faster there, and comes first.
import { UnsupportedError } from '../errors.js';

const software = /swiftshader|llvmpipe|lavapipe|softpipe|\b(open)?swr\b|\bwarp\b|basic render|software|fallback/i;

export const AFTER = 'it comes after wasm, and load({ backend }) takes it all the same';

/**
 * Whether an adapter is a CPU, by its name.
 * @param {string} adapter
 */
export const isSoftware = (adapter) => software.test(adapter);

/**
 * @param {string} adapter its name
 * @throws {UnsupportedError} `software`
 */
export function refuseSoftware(adapter) {
  if (isSoftware(adapter)) throw new UnsupportedError('software', `the adapter is software (${adapter}): ${AFTER}`);
}
