// URLs of workers on pages whose Content-Security-Policy has require-trusted-types-for 'script'.

/** Name that a page's `trusted-types` must list. */
const POLICY = 'webnn-compile';

/** @type {{ createScriptURL: (url: string) => any } | undefined} */
let policy;

/**
 * A worker by plain URLs, or by trusted ones where these are refused.
 * @param {(trusted?: (url: string) => any) => Worker} create
 */
export function withTrust(create) {
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
  return create((url) => policy?.createScriptURL(url));
}
