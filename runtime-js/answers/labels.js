/** @type {import('./answers.js').Kind} the label of each element */
export const labels = ({ places }, label) => Array.from(places, (place) => label(Number(place)));
