// Pieces of the text of ids by the runtime's own modules: node pieces.mjs REQUEST.json prints JSON.

import { readFileSync } from 'node:fs';
import { pieces } from '../../runtime-js/generate/pieces.js';
import { tokenizers } from '../../runtime-js/texts/tokenizers.js';

const request = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const opened = tokenizers.start([request.tokenizer], () => import(request.package), { signal: undefined, timeout: 0 });
await opened.ready({ dispose() {} });
const found = request.ids.map((ids) => {
  const written = new pieces.Pieces(opened.list[0], []);
  return ids.map((id) => {
    written.push(id);
    return written.take([]).text;
  });
});
console.log(JSON.stringify(found));
