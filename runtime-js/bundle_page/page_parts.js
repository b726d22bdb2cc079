// Parts of the page that not every model needs: the compiler leaves out the lines of those that this one does without.

export { fileInputs } from './ask_files.js';
export { askText } from './ask_text.js';
export { chooseFunction } from './choose_function.js';
export { kernelCheck } from './kernel_check.js';
export { offerGenerating } from './offer_generating.js';
export { recordSound } from './record_sound.js';
export { selfTest } from './self_test.js';
export { showAnswer } from './show_answers.js';
export { showState } from './show_state.js';
