import { axesOf, inside } from './frame.js';

/** @type {import('./answers.js').Kind} points in the picture that was given */
export const keypoints = ({ points }, label, { frame }, sizes) => {
  const [across, down] = axesOf(frame, sizes?.[frame.input]);
  return Array.from({ length: points.length / 3 }, (_, index) => {
    const [x, y, score] = points.subarray(3 * index, 3 * index + 3);
    return { label: label(index), score, index, x: inside(across, x), y: inside(down, y) };
  });
};
