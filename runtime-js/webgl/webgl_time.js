// The time of each launch on WebGL: by the device's clock where it has one, which few browsers expose.

/** @typedef {{ prepared: import('./webgl_state.js').Prepared[], scalars: readonly number[] }} Timed a launch */

/**
 * @param {WebGL2RenderingContext} gl
 * @param {Timed[]} launches
 * @param {(one: Timed) => void} draw
 * @returns {ReturnType<import('../device/device_program.js').Device['time']>}
 */
export async function timeLaunches(gl, launches, draw) {
  const timer = gl.getExtension('EXT_disjoint_timer_query_webgl2');
  const ms = timer && (await byDevice(gl, timer, launches, draw));
  return ms ? { ms, clock: 'gpu' } : { ms: byPage(gl, launches, draw), clock: 'wall' };
}

/**
 * Undefined where the clock was disturbed.
 * @param {WebGL2RenderingContext} gl
 * @param {any} timer
 * @param {Timed[]} launches
 * @param {(one: Timed) => void} draw
 */
async function byDevice(gl, timer, launches, draw) {
  gl.getParameter(timer.GPU_DISJOINT_EXT); // clears what was before
  const queries = launches.map((one) => {
    const query = gl.createQuery();
    gl.beginQuery(timer.TIME_ELAPSED_EXT, query);
    draw(one);
    gl.endQuery(timer.TIME_ELAPSED_EXT);
    return query;
  });
  const last = queries.at(-1);
  while (last && !gl.getQueryParameter(last, gl.QUERY_RESULT_AVAILABLE) && !gl.isContextLost())
    await new Promise((resolve) => setTimeout(resolve));
  const ms = queries.map((query) => gl.getQueryParameter(query, gl.QUERY_RESULT) / 1e6);
  for (const query of queries) gl.deleteQuery(query);
  return gl.getParameter(timer.GPU_DISJOINT_EXT) ? undefined : ms;
}

/**
 * @param {WebGL2RenderingContext} gl
 * @param {Timed[]} launches
 * @param {(one: Timed) => void} draw
 */
function byPage(gl, launches, draw) {
  /** @type {Record<number, Float32Array | Int32Array | Uint32Array>} */
  const texel = {
    [gl.FLOAT]: new Float32Array(4),
    [gl.INT]: new Int32Array(4),
    [gl.UNSIGNED_INT]: new Uint32Array(4),
  };
  // finish() is not waited for in browsers; a texel that is read back is.
  const finish = () => {
    const type = gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_TYPE);
    const format = gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_FORMAT);
    gl.readPixels(0, 0, 1, 1, format, type, texel[type] ?? null);
  };
  return launches.map((one) => {
    gl.bindFramebuffer(gl.FRAMEBUFFER, one.prepared[0]?.framebuffer ?? null);
    finish();
    const began = performance.now();
    draw(one);
    finish();
    return performance.now() - began;
  });
}
