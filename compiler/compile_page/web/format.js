// Numbers as text.

/** @param {number} bytes */
export const size = (bytes) => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

/** @param {number} ms */
export const milliseconds = (ms) => `${ms < 10 ? ms.toFixed(2) : ms < 1000 ? ms.toFixed(1) : ms.toFixed(0)} ms`;

/** @param {number} seconds */
export const duration = (seconds) => (seconds < 10 ? `${seconds.toFixed(1)} s` : `${seconds.toFixed(0)} s`);

/** @param {number} value */
export const count = (value) => value.toLocaleString('en');

/** @param {number} value */
export const number = (value) => String(Number(value.toPrecision(5)));

/** @param {number} share */
export const percent = (share) => `${(share * 100).toFixed(1)}%`;

/**
 * @param {number} number
 * @param {string} noun
 */
export const some = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;

/** @param {readonly (number | string | null)[]} shape */
export const shapeText = (shape) => `[${shape.map((extent) => extent ?? '?').join(', ')}]`;

/** @param {string} backend */
export const backendName = (backend) => ({ webgpu: 'WebGPU', webgl: 'WebGL' })[backend] ?? backend;

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
