// What the page shows: bars, numbers, small images. Of the model it has the figures alone.

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {{ new (): T }} type
 * @returns {T}
 */
export function element(id, type) {
  const node = document.getElementById(id);
  if (!(node instanceof type)) throw new Error(`the page has no ${type.name} with id ${id}`);
  return node;
}

/**
 * A row for each class.
 *
 * @param {HTMLElement} list
 * @param {readonly string[]} names
 * @returns {(probabilities: readonly number[], names?: readonly string[]) => void} draws probabilities, or none to clear;
 *   rows without a name are hidden
 */
export function createBars(list, names) {
  const rows = names.map(() => {
    const row = document.createElement('li');
    const name = document.createElement('b');
    const bar = document.createElement('span');
    const value = document.createElement('data');
    row.append(name, bar, value);
    list.append(row);
    return { row, name, bar, value };
  });
  /** @type {ReturnType<typeof createBars>} */
  const show = (probabilities, shown = names) => {
    const best = Math.max(...probabilities);
    rows.forEach(({ row, name, bar, value }, i) => {
      const p = probabilities[i];
      row.hidden = !shown[i];
      name.textContent = shown[i] ?? '';
      bar.style.setProperty('--share', String(p ?? 0));
      value.value = p === undefined ? '' : String(p);
      value.textContent = p === undefined ? '' : percent(p);
      row.classList.toggle('best', p === best);
    });
  };
  show([]);
  return show;
}

/**
 * @param {HTMLElement} list a `dl`
 * @param {Record<string, string>} facts
 */
export function showFacts(list, facts) {
  list.replaceChildren(
    ...Object.entries(facts).flatMap(([term, text]) => [
      Object.assign(document.createElement('dt'), { textContent: term }),
      Object.assign(document.createElement('dd'), { textContent: text }),
    ]),
  );
}

/**
 * @param {HTMLCanvasElement} canvas 32 x 32
 * @param {ArrayLike<number>} image 32 x 32, 0 (clear) to 1 (ink in the canvas' text colour)
 */
export function paintImage(canvas, image) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  const pixels = context.createImageData(canvas.width, canvas.height);
  const [red = 0, green = 0, blue = 0] = getComputedStyle(canvas).color.match(/\d+/g)?.map(Number) ?? [];
  for (let i = 0; i < image.length; i++) {
    pixels.data.set([red, green, blue, (image[i] ?? 0) * 255], i * 4);
  }
  context.putImageData(pixels, 0, 0);
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {ImageBitmap} picture
 * @returns {CanvasRenderingContext2D} as large as the picture, which is in it
 */
export function paintPicture(canvas, picture) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  Object.assign(canvas, { width: picture.width, height: picture.height });
  context.drawImage(picture, 0, 0);
  return context;
}

/** @param {number} share */
export const percent = (share) => `${(share * 100).toFixed(1)}%`;

/** @param {number} bytes */
export const size = (bytes) => (bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
