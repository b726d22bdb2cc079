// Workers of an ES module.

import { isElsewhere } from '../fetch/is_elsewhere.js';
import { withTrust } from './trusted_url.js';

/**
 * @param {() => Worker} create by the expression that bundlers look for, which takes no trusted URL: so it goes first
 * @param {string} script its file, in the folder of this one
 */
export function createWorker(create, script) {
  const href = resolve(script, import.meta.url);
  return withTrust((trusted) => {
    const elsewhere = isElsewhere(href);
    if (!trusted && !elsewhere) return create();
    // Browsers start no worker by a script of another origin, but let one import it.
    const url = elsewhere
      ? URL.createObjectURL(new Blob([`import ${JSON.stringify(href)}`], { type: 'text/javascript' }))
      : href;
    return new Worker(trusted?.(url) ?? url, { type: 'module' });
  });
}

/**
 * Apart from its use: Turbopack refuses a URL of import.meta.url itself and a file that is known in a run alone.
 * @param {string} script
 * @param {string} base
 */
const resolve = (script, base) => new URL(script, base).href;
