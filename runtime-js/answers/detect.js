import { axesOf, inside } from './frame.js';

/** @type {import('./answers.js').Kind} boxes in the picture that was given */
export const detect = ({ boxes, scores, index }, label, { frame }, sizes) => {
  const [across, down] = axesOf(frame, sizes?.[frame.input]);
  const count = scores.findIndex((/** @type {number} */ score) => !(score > 0));
  return Array.from(count < 0 ? scores : scores.subarray(0, count), (score, i) => {
    const [x, y, width, height] = boxes.subarray(4 * i, 4 * i + 4);
    const [left, right] = [inside(across, x), inside(across, x + width)];
    const [top, bottom] = [inside(down, y), inside(down, y + height)];
    const box = { x: left, y: top, width: right - left, height: bottom - top };
    return { label: label(index[i]), score, index: index[i], box };
  });
};
