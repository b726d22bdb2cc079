// The script of a dedicated worker for the backend webgl.
import * as backend from './backend_webgl.js';
import { serveSession } from './serve_session.js';

serveSession(backend);
