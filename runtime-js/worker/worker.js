// The dedicated worker's script.
import { serveSession } from './serve_session.js';

serveSession();
