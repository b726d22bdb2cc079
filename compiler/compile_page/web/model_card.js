// What a model's file says of itself.

import { element, make, showFacts, showRows, tableRow } from './elements.js';
import { count, size } from './format.js';
import { shapeElement } from './free_sizes.js';

/** @param {import('./types.js').Card} card */
export function showCard(card) {
  element('card', HTMLElement).hidden = false;
  element('card-name', HTMLElement).textContent = card.name;
  showFacts(element('card-facts', HTMLElement), {
    size: size(card.bytes),
    producer: card.producer,
    ...(card.opset && { opset: String(card.opset) }), // ONNX alone has one
    parameters: count(card.parameters),
    nodes: count(Object.values(card.operators).reduce((sum, one) => sum + one, 0)),
  });
  const operators = Object.entries(card.operators).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  element('card-operators', HTMLElement).replaceChildren(
    ...operators.map(([name, times]) => make('li', {}, [name, ' ', make('b', count(times))])),
  );
  /** @param {string} kind */
  const row = (kind) => (/** @type {import('./types.js').Port} */ port) =>
    tableRow([port.name, kind, port.dtype, shapeElement(port)]);
  showRows(element('card-ports', HTMLTableElement), [
    ...card.inputs.map(row('input')),
    ...card.outputs.map(row('output')),
  ]);
}

export function hideCard() {
  element('card', HTMLElement).hidden = true;
}
