// Parts that not every model needs: the compiler leaves out the lines of those that this one does without.

export { answers } from '../answers/answers.js';
export { chat } from '../generate/chat.js';
export { generate } from '../generate/generate.js';
export { pieces } from '../generate/pieces.js';
export { texts } from '../texts/texts.js';
export { tokenizers } from '../texts/tokenizers.js';
export { sizes } from '../values/bind_sizes.js';
export { copied } from '../values/copy_inputs.js';
export { hasNonFinite } from '../values/into.js';
export { pictures } from '../values/pictures.js';
export { sounds } from '../values/sounds.js';
export { checkCheckOptions } from './check_options.js';
export { newest } from './newest.js';
export { states } from './sessions.js';
export { signature } from './signature.js';
