// WebGPU's flags, whose values its specification fixes: TypeScript declares no global GPUBufferUsage.
export const BufferUsage = {
  MAP_READ: 1,
  COPY_SRC: 4,
  COPY_DST: 8,
  UNIFORM: 0x40,
  STORAGE: 0x80,
  QUERY_RESOLVE: 0x200,
};
export const TextureUsage = { COPY_DST: 2, TEXTURE_BINDING: 4, RENDER_ATTACHMENT: 0x10 };
export const COMPUTE = 4; // of GPUShaderStage
export const READ = 1; // of GPUMapMode
