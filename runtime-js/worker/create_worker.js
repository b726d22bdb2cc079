// Workers on pages whose Content-Security-Policy has require-trusted-types-for 'script'.

/** Name that a page's `trusted-types` must list. */
const POLICY = 'webnn-compile';

/** @type {{ createScriptURL: (url: string) => any } | undefined} */
let policy;

/**
 * @param {() => Worker} create by the expression that bundlers look for, which takes no trusted URL: so it goes first
 * @param {string} script its file, in the folder of this one
 */
export function createWorker(create, script) {
  try {
    if (!policy) return create();
  } catch (error) {
    const { trustedTypes } = /** @type {any} */ (globalThis);
    if (!trustedTypes || !(error instanceof TypeError)) throw error;
    try {
      policy = trustedTypes.createPolicy(POLICY, { createScriptURL: String });
    } catch {
      // A name that is not allowed and one that another bundle's policy has are the same error.
      const several = "with 'allow-duplicates' where the page loads several bundles";
      const must = `the page's Content-Security-Policy must allow: trusted-types ${POLICY}, ${several}`;
      throw new Error(`${error.message}; ${must}`);
    }
  }
  return new Worker(policy?.createScriptURL(new URL(/* webpackIgnore: true */ script, import.meta.url).href), {
    type: 'module',
  });
}
