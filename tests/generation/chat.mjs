// Texts of messages by the runtime's own module: node chat.mjs REQUEST.json prints JSON.

import { readFileSync } from 'node:fs';
import { chat } from '../../runtime-js/generate/chat.js';

const { template, conversations, ...spec } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { Template } = await import(spec.package);
const ofMessages = chat.open({ template, tokens: spec.tokens }, Template);
const found = conversations.map((messages) => {
  try {
    const [{ text }, { encode }] = ofMessages({ messages }, {});
    return { text: encode({}, { encode: (all) => all }, text) };
  } catch ({ name, message }) {
    return { error: `${name}: ${message}` };
  }
});
console.log(JSON.stringify(found));
