// Shapes of charts.

const NAMESPACE = 'http://www.w3.org/2000/svg';

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 */
export function createShape(tag, attributes) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

/**
 * As wide as its place: text in it is not scaled.
 *
 * @param {number} height in pixels
 * @param {string} label all that it says, for those who do not see it
 */
export const createChart = (height, label) =>
  createShape('svg', { width: '100%', height, role: 'img', 'aria-label': label });

/**
 * @param {string} text
 * @param {Readonly<Record<string, string | number>>} attributes
 */
export function createText(text, attributes) {
  const node = createShape('text', attributes);
  node.textContent = text;
  return node;
}
