// Parts of the page that not every model needs: the compiler leaves out the lines of those that this one does without.

export { showAnswer } from './show_answers.js';
