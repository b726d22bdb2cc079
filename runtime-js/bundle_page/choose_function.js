// A bundle of several models: its page shows one of them.
import { element } from './page_elements.js';

/**
 * The model that the address names (?function=decoder), or the first; a link leads to each.
 * @param {any} bundle exports of model.js
 * @returns {Pick<typeof import('../model.js'), 'load'>}
 */
export function chooseFunction(bundle) {
  const links = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('#functions a')]);
  const wanted = new URL(location.href).searchParams.get('function');
  const chosen = /** @type {HTMLAnchorElement} */ (
    links.find(({ dataset }) => dataset.function === wanted) ?? links[0]
  );
  chosen.ariaCurrent = 'page';
  element('backends').dataset.golden = chosen.dataset.golden;
  return bundle[chosen.dataset.function ?? ''];
}
