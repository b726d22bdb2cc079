// The script of a dedicated worker for the backend wasm.
import * as backend from './backend_wasm.js';
import { serveSession } from './serve_session.js';

serveSession(backend);
