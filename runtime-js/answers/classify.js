/** @type {import('./answers.js').Kind} classes, the likeliest first */
export const classify = ({ scores, index }, label) =>
  Array.from(scores, (score, i) => ({ label: label(index[i]), score, index: index[i] }));
