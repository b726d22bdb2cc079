/** @type {import('./answers.js').Kind} a vector */
export const embedding = ({ vector }) => vector;
