// The script of a dedicated worker for the backend webgpu.
import * as backend from './backend_webgpu.js';
import { serveSession } from './serve_session.js';

serveSession(backend);
