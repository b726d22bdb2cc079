// Elements of the page: those of index.html by id, new ones, and what is shown in them.

/**
 * @template {Element} T
 * @param {string} id
 * @param {{ new (): T }} type
 * @returns {T}
 */
export function element(id, type) {
  const node = document.getElementById(id);
  if (!(node instanceof type)) throw new Error(`the page has no ${type.name} with id ${id}`);
  return node;
}

/** @param {HTMLInputElement} field @returns {number | undefined} undefined where it is empty */
export const numberIn = ({ valueAsNumber }) => (Number.isNaN(valueAsNumber) ? undefined : valueAsNumber);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | Partial<HTMLElementTagNameMap[Tag]>} [what] its text, or properties
 * @param {readonly (Node | string)[]} [children]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, what = {}, children = []) {
  const node = document.createElement(tag);
  Object.assign(node, typeof what === 'string' ? { textContent: what } : what);
  node.append(...children);
  return node;
}

/**
 * @param {HTMLElement} list a `dl`
 * @param {Readonly<Record<string, string>>} facts those with an empty text are left out
 */
export function showFacts(list, facts) {
  const shown = Object.entries(facts).filter(([, text]) => text);
  list.replaceChildren(...shown.flatMap(([term, text]) => [make('dt', term), make('dd', text)]));
}

/**
 * @param {readonly (Node | string)[]} cells the first is the row's heading
 * @returns {HTMLTableRowElement}
 */
export function tableRow(cells) {
  return make(
    'tr',
    {},
    cells.map((cell, i) => make(i ? 'td' : 'th', i ? {} : { scope: 'row' }, [cell])),
  );
}

/**
 * @param {HTMLTableElement} table
 * @param {readonly HTMLTableRowElement[]} rows
 */
export function showRows(table, rows) {
  table.hidden = rows.length === 0;
  table.tBodies[0]?.replaceChildren(...rows);
}

/**
 * A line that is there only while it says something.
 * @param {HTMLElement} line
 * @param {string} text
 */
export function say(line, text) {
  line.textContent = text;
  line.hidden = !text;
}

/**
 * Calls `action` when the button is pressed, and not again before it has ended. The button is not disabled: it would
 * lose the keyboard's focus.
 * @param {HTMLButtonElement} button
 * @param {() => unknown} action
 */
export function onPress(button, action) {
  button.addEventListener('click', async () => {
    if (button.ariaDisabled === 'true') return;
    button.ariaDisabled = 'true';
    try {
      await action();
    } finally {
      button.ariaDisabled = null;
    }
  });
}
