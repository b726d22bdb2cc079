// Elements of the bundle's page, and what they show.

/** @param {string} id */
export const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} id
 * @param {(readonly [string, string | Node])[]} rows
 */
export function showTable(id, rows) {
  const lines = rows.map(([head, content]) => {
    const row = document.createElement('tr');
    const cell = document.createElement('td');
    cell.append(content);
    row.append(Object.assign(document.createElement('th'), { textContent: head, scope: 'row' }), cell);
    return row;
  });
  element(id).replaceChildren(...lines);
}

/**
 * @param {string} text
 * @param {boolean} [failed]
 */
export function showStatus(text, failed = false) {
  element('status').textContent = text;
  element('status').className = failed ? 'error' : '';
}

/** @param {number} ms */
export const time = (ms) => `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
