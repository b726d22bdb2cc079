// The script of a dedicated worker for WebGPU.
import { startWebgpu } from '../webgpu/start_webgpu.js';
import { serveSession } from './serve_session.js';

serveSession(startWebgpu);
