// Tokens of texts and text of ids by the runtime's own modules: node encode.mjs REQUEST.json prints JSON.

import { readFileSync } from 'node:fs';
import { texts } from '../../runtime-js/texts/texts.js';
import { tokenizers } from '../../runtime-js/texts/tokenizers.js';

const request = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const load = () => import(request.package);
const opened = tokenizers.start([request.tokenizer], load, { signal: undefined, timeout: 0 });
await opened.ready({ dispose() {} });
const inputs = Object.keys(request.dtypes).map((text) => ({ name: text, dtype: request.dtypes[text], shape: [], text }));
const numbers = ({ data, shape }) => ({ data: Array.from(data, Number), shape, kind: data.constructor.name });
const given = async (text) => {
  const run = async (made) => Object.fromEntries(Object.entries(made).map(([name, one]) => [name, numbers(one)]));
  return texts.using(request.text, inputs, { text }, run, request.dimensions, opened.list).catch(String);
};
const encoded = [];
for (const text of request.texts) encoded.push(await given(text));
const decoded = request.ids.map((ids) => opened.list[0].decode(ids, request.special));
console.log(JSON.stringify({ encoded, decoded }));
