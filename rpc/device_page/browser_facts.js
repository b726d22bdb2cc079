// The facts that a device sends when it joins: browser, processors, adapters, isolation; and what it lacks.

import { listVariants } from '../../runtime-js/wasm/features.js';
import { acquireContext } from '../../runtime-js/webgl/webgl_context.js';
import { nameOf, requestAdapter } from '../../runtime-js/webgpu/webgpu_adapter.js';

const BROWSERS = [
  ['Edge', /Edg\/(\d+)/],
  ['Firefox', /Firefox\/(\d+)/],
  ['Chrome', /Chrom(?:e|ium)\/(\d+)/],
  ['Safari', /Version\/(\d+).* Safari\//],
];
/** Milliseconds to which browsers coarsen a GPU's timestamps: https://www.w3.org/TR/webgpu/#timestamp */
const TIMESTAMPS = 0.1;
const INSECURE = 'the page is not served over https or from localhost';

/**
 * `facts.missing` has the reason why the browser lacks WebGPU, WebGL 2 or threads, where it does.
 * @returns {Promise<{ backends: string[], facts: Record<string, any> }>}
 */
export async function browserFacts() {
  const [webgpu, noWebgpu] = await attempt(describeWebgpu);
  const [webgl, noWebgl] = await attempt(describeWebgl);
  const isolated = globalThis.crossOriginIsolated === true;
  const whyNot = isSecureContext ? 'the page is not cross-origin isolated' : INSECURE;
  const backends = [...(webgpu ? ['webgpu'] : []), ...(webgl ? ['webgl'] : []), 'wasm'];
  return {
    backends,
    facts: {
      browser: browserName(),
      platform: navigator.platform,
      processors: navigator.hardwareConcurrency,
      isolated,
      clock: resolution(),
      wasm: { variants: listVariants() },
      webgpu,
      webgl,
      missing: { webgpu: noWebgpu, webgl: noWebgl, threads: isolated ? undefined : whyNot },
    },
  };
}

/** For example "Firefox 128". */
export function browserName() {
  for (const [name, version] of BROWSERS) {
    const match = /** @type {RegExp} */ (version).exec(navigator.userAgent);
    if (match) return `${name} ${match[1]}`;
  }
  return 'browser';
}

/**
 * The result, or why there is none.
 * @template T
 * @param {() => T | Promise<T>} describe
 * @returns {Promise<[T | undefined, string | undefined]>}
 */
async function attempt(describe) {
  try {
    return [await describe(), undefined];
  } catch (error) {
    return [undefined, /** @type {Error} */ (error).message];
  }
}

async function describeWebgpu() {
  const adapter = await requestAdapter();
  /** @type {Record<string, number>} */
  const limits = {};
  for (const name in adapter.limits) {
    const limit = /** @type {any} */ (adapter.limits)[name];
    if (typeof limit === 'number') limits[name] = limit;
  }
  return { adapter: nameOf(adapter.info), features: [...adapter.features].sort(), limits, clock: TIMESTAMPS };
}

function describeWebgl() {
  const { gl, adapter, release } = acquireContext();
  const features = [...(gl.getSupportedExtensions() ?? [])].sort();
  const limits = { MAX_TEXTURE_SIZE: Number(gl.getParameter(gl.MAX_TEXTURE_SIZE)) };
  release();
  return { adapter, features, limits };
}

/** Milliseconds by which the clock advances at least: browsers coarsen it to 0.005 to 1. */
export function resolution() {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    let now = start;
    while (now === start) now = performance.now();
    least = Math.min(least, now - start);
  }
  return least;
}
