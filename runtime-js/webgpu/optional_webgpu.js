// A part that not every model needs: the compiler leaves out its line where no kernel takes scalars.

export { createUniforms } from './webgpu_uniforms.js';
