// The script of the backend webgpu.
import { startWebgpu } from '../webgpu/start_webgpu.js';

/** @type {import('../start_session.js').Backend['start']} */
export const start = (plan, notify) => {
  // <canaries>
  plan.takeOther = () => import('../device/take_other.js');
  // </canaries>
  return startWebgpu(plan, notify);
};
