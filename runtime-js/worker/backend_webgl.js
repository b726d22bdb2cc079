// The script of the backend webgl.
import { startWebgl } from '../webgl/start_webgl.js';

/** @type {import('../start_session.js').Backend['start']} */
export const start = (plan, notify) => {
  // <canaries>
  plan.takeOther = () => import('../device/take_other.js');
  // </canaries>
  return startWebgl(plan, notify);
};
