// A WebGL 2 context and its adapter. A page looks for it before it fetches any script of the backend: workers have no more.
import { refuseSoftware } from '../device/software_adapter.js';
import { UnsupportedError } from '../errors.js';

/** Frees all its resources, which browsers else do at garbage collection. */
export const lose = (/** @type {WebGL2RenderingContext} */ gl) => gl.getExtension('WEBGL_lose_context')?.loseContext();

/**
 * A context that draws into float32 textures.
 * @throws {UnsupportedError} `backend`
 */
export function createContext() {
  const canvas =
    typeof OffscreenCanvas === 'function' ? new OffscreenCanvas(1, 1) : globalThis.document?.createElement('canvas');
  const open = (/** @type {boolean} */ failIfMajorPerformanceCaveat) =>
    /** @type {WebGL2RenderingContext | null | undefined} */ (
      canvas?.getContext('webgl2', {
        antialias: false,
        depth: false,
        powerPreference: 'high-performance',
        failIfMajorPerformanceCaveat,
      })
    );
  const fast = open(true);
  const gl = fast ?? open(false);
  if (!gl) throw new UnsupportedError('backend', 'there is no WebGL 2 here');
  if (!gl.getExtension('EXT_color_buffer_float')) {
    lose(gl);
    throw new UnsupportedError('backend', 'WebGL 2 cannot draw into float32 textures here (no EXT_color_buffer_float)');
  }
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  const name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  return { gl, adapter: `${name}${fast ? '' : ' (fallback)'}` };
}

/** @throws {UnsupportedError} where there is no context, or one of software */
export async function needWebgl() {
  const { gl, adapter } = createContext();
  lose(gl);
  refuseSoftware(adapter);
}
