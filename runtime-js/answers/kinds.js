// What answers may be: the compiler leaves out the lines of those that this model does not give.

export { classify } from './classify.js';
export { detect } from './detect.js';
export { embedding } from './embedding.js';
export { keypoints } from './keypoints.js';
export { labels } from './labels.js';
export { mask } from './mask.js';
export { scores } from './scores.js';
export { text } from './text.js';
