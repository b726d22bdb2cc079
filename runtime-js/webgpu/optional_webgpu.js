// Parts that not every model needs: the compiler leaves out the lines where no kernel takes scalars, and where nothing is kept
// between runs.

export { ahead } from './webgpu_ahead.js';
export { webgpuStates } from './webgpu_states.js';
export { createUniforms } from './webgpu_uniforms.js';
