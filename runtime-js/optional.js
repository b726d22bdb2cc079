// Parts that not every model needs: the compiler leaves out the lines of those that this one does without.

export { stepping } from './device/play_steps.js';
export { sizes } from './values/bind_sizes.js';
export { createUniforms } from './webgpu/webgpu_uniforms.js';
