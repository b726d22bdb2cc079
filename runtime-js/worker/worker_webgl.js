// The script of a dedicated worker for WebGL.
import { startWebgl } from '../webgl/start_webgl.js';
import { serveSession } from './serve_session.js';

serveSession(startWebgl);
