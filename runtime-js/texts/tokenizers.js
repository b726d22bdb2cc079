// Tokenizers: the package @huggingface/tokenizers with the files of this model.

import { UnsupportedError } from '../errors.js';
import { fetchJson } from '../fetch/fetch_file.js';
import { importScript } from '../fetch/import_script.js';
import { openStore } from '../fetch/keep_files.js';
import { watchDownloads } from '../fetch/watch_downloads.js';

/** @typedef {import('../fetch/fetch_file.js').FileSpec} FileSpec */
/** @typedef {{ encode: (text: string) => number[], decode: (ids: number[], special: boolean) => string }} Tokenizer */
/** @typedef {new (file: object, settings: object) => any} PackagedTokenizer of the package */

/**
 * The tokenizers of a model that starts.
 * @param {readonly FileSpec[]} specs
 * @param {(() => any) | undefined} load gives the package's exports, perhaps in a promise
 * @param {{ signal: AbortSignal | undefined, timeout: number, cache?: string }} plan
 */
function start(specs, load, plan) {
  /** @type {Tokenizer[]} in the order of `specs`, once it is ready */
  const list = [];
  // <chat>
  /** @type {any} what the packages export, once it is ready */
  const exported = {};
  // </chat>
  const opened = async () => {
    const code = (async () => load?.())();
    code.catch(() => {}); // the files may fail before
    const downloads = watchDownloads({ ...plan, ...(plan.cache && { store: await openStore(plan.cache) }) });
    const files = await Promise.all(specs.map((spec) => fetchJson(spec, downloads)));
    const packages = await importScript('the tokenizer', code, downloads);
    // <chat>
    Object.assign(exported, packages);
    // </chat>
    return files.map((file) => open(packages.Tokenizer, file));
  };
  const opening = opened();
  opening.catch(() => {}); // the model may fail to start before
  return {
    list,
    // <chat>
    exported,
    // </chat>
    /** @param {{ dispose: () => void }} session ended where a tokenizer does not start */
    async ready(session) {
      try {
        list.push(...(await opening));
      } catch (error) {
        session.dispose();
        throw error;
      }
    },
  };
}

/**
 * @param {PackagedTokenizer} Tokenizer
 * @param {any} file
 * @returns {Tokenizer}
 */
function open(Tokenizer, file) {
  const settings = { unk_token: file.model.unk_token, clean_up_tokenization_spaces: false };
  /** @type {any} */
  let tokenizer;
  try {
    tokenizer = new Tokenizer(file, settings);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new UnsupportedError('compile', `@huggingface/tokenizers does not take the model's tokenizer: ${message}`);
  }
  return {
    // Templates and special tokens are added by those who encode.
    encode: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.filter(isId),
    decode(ids, special) {
      const known = ids.filter((id) => tokenizer.id_to_token(id) !== undefined);
      const text = known.length ? tokenizer.decode(known, { skip_special_tokens: !special }) : '';
      return special ? text.trim() : text;
    },
  };
}

/** Without a token for what is unknown there is no id. @param {unknown} id */
const isId = (id) => id !== undefined;

export const tokenizers = { start };
