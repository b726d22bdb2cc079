// Answers on the bundle's own page: classes as bars, boxes, masks and points over the picture.

/** @typedef {import('../model.js').Answers} Answers */

/**
 * @param {readonly import('../model.js').Class[]} classes
 * @returns {(Node | string)[]}
 */
function bars(classes) {
  const lines = classes.map(({ label, score }) => {
    const line = document.createElement('label');
    const bar = Object.assign(document.createElement('meter'), { min: 0, max: 1, value: score });
    line.append(bar, ` ${(100 * score).toFixed(1)}% ${label}`);
    return line;
  });
  return lines.length ? lines : ['none'];
}

/** @type {{ [Kind in keyof Answers]: (answer: Answers[Kind], picture?: ImageBitmap) => (Node | string)[] }} */
const views = {
  classify: bars,
  detect(objects, picture) {
    if (!picture) return bars(objects);
    const { canvas, context } = drawn(picture);
    const size = Math.max(picture.width, picture.height) / 40;
    Object.assign(context, { lineWidth: size / 5, font: `${size}px sans-serif`, textBaseline: 'top' });
    for (const { label, box } of objects) {
      const { x, y, width, height } = box;
      context.strokeStyle = context.fillStyle = '#0a5';
      context.strokeRect(x, y, width, height);
      context.fillRect(x, y, context.measureText(label).width + size / 2, 1.2 * size);
      context.fillStyle = '#fff';
      context.fillText(label, x + size / 4, y + size / 10);
    }
    return [canvas, ...bars(objects)];
  },
  mask(mask, picture) {
    const { width, height } = mask;
    const canvas = Object.assign(document.createElement('canvas'), { width, height });
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    context.putImageData(mask.toImageData(), 0, 0);
    if (picture) {
      context.globalCompositeOperation = 'destination-over';
      context.drawImage(picture, 0, 0);
    }
    return [canvas];
  },
  keypoints(points, picture) {
    if (!picture) return bars(points);
    const { canvas, context } = drawn(picture);
    const radius = Math.max(picture.width, picture.height) / 150;
    context.fillStyle = '#0a5';
    for (const { x, y } of points) {
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      context.fill();
    }
    return [canvas, ...bars(points)];
  },
  embedding: (vector) => [document.createTextNode(`${[...vector.slice(0, 10)].join(', ')}, …`)],
  text: (text) => [document.createTextNode(text)],
  labels: (labels) => [document.createTextNode(labels.join(', '))],
  scores: (rows) =>
    rows.flatMap((row) => bars(Object.entries(row).map(([label, score], index) => ({ label, score, index })))),
};

/** @param {ImageBitmap} picture */
function drawn(picture) {
  const { width, height } = picture;
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  context.drawImage(picture, 0, 0);
  return { canvas, context };
}

/**
 * @param {keyof Answers} kind
 * @param {any} answer with those of a batch in a list
 * @param {Blob | ImageBitmap} [source] the picture that it is about, a file of it is decoded behind
 */
export function showAnswer(kind, answer, source) {
  const view = document.createElement('div');
  view.className = kind;
  if (Array.isArray(answer) && ['embedding', 'text'].includes(kind)) {
    view.append(...answer.map((/** @type {any} */ one) => showAnswer(kind, one)));
    return view;
  }
  const show = (/** @type {ImageBitmap} */ picture) => view.replaceChildren(...views[kind](answer, picture));
  if (source instanceof ImageBitmap) show(source);
  else view.append(...views[kind](answer));
  if (source instanceof Blob) createImageBitmap(source).then(show, () => {});
  return view;
}
