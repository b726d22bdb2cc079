/** @type {import('./answers.js').Kind} what a model of speech says, or writes */
export const text = ({ ids }, _, { blank, special, decode }) => {
  const kept = Array.from(ids, Number);
  const spoken = kept.filter((id, i) => id !== blank && id !== kept[i - 1]);
  return decode(blank === undefined ? kept : spoken, special);
};
