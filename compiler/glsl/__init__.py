"""WebGL 2: kernels as fragment shaders (GLSL ES 3.00), tensors as textures."""
