// Answers on the bundle's own page: classes as bars.

/** @typedef {import('../model.js').Answers} Answers */

/** @type {{ [Kind in keyof Answers]: (answer: Answers[Kind]) => Node[] }} */
const views = {
  classify: (classes) =>
    classes.map(({ label, score }) => {
      const line = document.createElement('label');
      const bar = Object.assign(document.createElement('meter'), { min: 0, max: 1, value: score });
      line.append(bar, ` ${(100 * score).toFixed(1)}% ${label}`);
      return line;
    }),
};

/**
 * @param {keyof Answers} kind
 * @param {any} answer
 */
export function showAnswer(kind, answer) {
  const view = document.createElement('div');
  view.className = kind;
  view.append(...views[kind](answer));
  return view;
}
