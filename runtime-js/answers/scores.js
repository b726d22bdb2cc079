/** @type {import('./answers.js').Kind} for each row the scores by label */
export const scores = (parts, _label, _spec, _sizes, labels = []) =>
  Array.from({ length: parts.scores.length / labels.length }, (_, row) =>
    Object.fromEntries(labels.map((label, i) => [label, parts.scores[row * labels.length + i]])),
  );
