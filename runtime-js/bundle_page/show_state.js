// What the model keeps between runs, on the bundle's own page.

/**
 * Shows the position, with a button that resets it.
 * @param {import('../model.js').Model} model
 * @param {Element} place
 * @param {(task: () => Promise<void>) => Promise<void>} alone keeps other tasks of the page away
 * @returns {(() => Record<string, number>) | undefined} shows it anew; the sizes that states have now; none without states
 */
export function showState(model, place, alone) {
  if (!('reset' in model)) return undefined;
  const growing = model.dimensions.find(({ after }) => after !== undefined);
  const position = Object.assign(document.createElement('strong'), { id: 'position' });
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Reset', id: 'reset' });
  const label = document.createElement('label');
  label.append(`Position${growing ? ` (${growing.name}, at most ${growing.most} before a run)` : ''} `, position);
  place.append(label, button);
  const update = () => {
    position.textContent = String(model.position);
    return growing ? { [growing.name]: Math.min(model.position, growing.most) } : {}; // a run says that it is full
  };
  const reset = async () => {
    await model.reset();
    update();
  };
  button.addEventListener('click', () => alone(reset));
  update();
  return update;
}
