// The script of a dedicated worker for wasm.
import { startWasm } from '../wasm/start_wasm.js';
import { serveSession } from './serve_session.js';

serveSession(startWasm);
