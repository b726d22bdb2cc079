// Messages in place of a prompt: their text by the chat template of the model's tokenizer, in Jinja.

import { UnsupportedError } from '../errors.js';
import { kindOf } from '../values/check_names.js';

/**
 * @typedef {object} ChatSpec
 * @property {string} template
 * @property {Record<string, string>} tokens special ones, by the names that the template has for them
 */
/** @typedef {new (text: string) => { render: (values: object) => string }} Template of @huggingface/jinja */
/** @typedef {import('./generate.js').Texting} Texting */
/** @typedef {import('../model.js').GenerateOptions} GenerateOptions */

/**
 * Makes options of a text of those of messages, and what encodes it: special tokens are in the text.
 * @param {ChatSpec} spec
 * @param {Template} Template
 */
function open(spec, Template) {
  /** @type {InstanceType<Template> | undefined} parsed with the first messages */
  let parsed;

  /**
   * @param {GenerateOptions} options
   * @param {Texting} texting
   * @returns {[GenerateOptions, Texting]}
   * @throws {TypeError} what is no list of messages, or does not go with them
   * @throws {RangeError} messages that the template refuses
   */
  return function ofMessages({ messages, ...options }, texting) {
    const { text, ids, resume } = options;
    if (text !== undefined || ids !== undefined || resume)
      throw new TypeError('messages: leave text, ids and resume out: a template makes the whole conversation');
    checkMessages(messages);
    try {
      parsed ??= new Template(spec.template);
    } catch (error) {
      throw new UnsupportedError('compile', `@huggingface/jinja does not take the chat template: ${messageOf(error)}`);
    }
    let rendered;
    try {
      rendered = parsed.render({ ...spec.tokens, messages, add_generation_prompt: true });
    } catch (error) {
      throw new RangeError(`messages: the model's chat template refuses them: ${messageOf(error)}`);
    }
    const encode = (/** @type {any} */ _, /** @type {Texting['tokenizer']} */ tokenizer, /** @type {string} */ all) =>
      tokenizer.encode(all);
    return [
      { ...options, text: rendered },
      { ...texting, encode },
    ];
  };
}

const messageOf = (/** @type {any} */ error) => String(error?.message ?? error);

const EXPECTED = 'expected an array of one message at least, each { role, content } of two strings';

/** @param {any} messages */
function checkMessages(messages) {
  const kind = kindOf(messages);
  if (kind !== 'a plain array' || !messages.length) throw new TypeError(`messages: ${EXPECTED}, got ${kind}`);
  const wrong = messages.findIndex(
    (/** @type {any} */ one) => typeof one?.role !== 'string' || typeof one.content !== 'string',
  );
  if (wrong >= 0) throw new TypeError(`messages: ${EXPECTED}, got ${kindOf(messages[wrong])} at ${wrong}`);
}

export const chat = { open };
