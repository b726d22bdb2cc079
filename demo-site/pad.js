// The drawing area: pointer events in, strokes out.

/** @typedef {import('./ink.js').Point} Point */

const PEN = 0.085; // line width as a share of the pad's side
const STEP = 4; // pixels between the points that are kept

/**
 * @param {HTMLCanvasElement} canvas square
 * @param {(strokes: readonly Point[][]) => void} onChange called as a stroke grows; with no stroke after `clear`
 * @returns {{ clear: () => void }}
 */
export function createPad(canvas, onChange) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
  /** @type {Point[][]} */
  let strokes = [];
  /** @type {number | undefined} the pointer that draws */
  let pen;

  /** @param {PointerEvent} event */
  const locate = (event) => {
    const box = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * canvas.width,
      y: ((event.clientY - box.top) / box.height) * canvas.height,
    };
  };

  const paint = () => {
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.lineWidth = PEN * canvas.width;
    context.lineCap = context.lineJoin = 'round';
    context.strokeStyle = getComputedStyle(canvas).color;
    for (const stroke of strokes) {
      context.beginPath();
      for (const { x, y } of [...stroke.slice(0, 1), ...stroke]) context.lineTo(x, y);
      context.stroke();
    }
  };

  canvas.addEventListener('pointerdown', (event) => {
    if (pen !== undefined || event.button !== 0) return;
    pen = event.pointerId;
    canvas.setPointerCapture(pen);
    strokes.push([locate(event)]);
    paint();
    onChange(strokes);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (event.pointerId !== pen) return;
    const stroke = strokes.at(-1);
    const last = stroke?.at(-1);
    const next = locate(event);
    if (!stroke || !last || Math.hypot(next.x - last.x, next.y - last.y) < STEP) return;
    stroke.push(next);
    paint();
    onChange(strokes);
  });
  const lift = (/** @type {PointerEvent} */ event) => {
    if (event.pointerId === pen) pen = undefined;
  };
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);

  return {
    clear() {
      strokes = [];
      paint();
      onChange(strokes);
    },
  };
}
