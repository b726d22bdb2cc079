// Buttons that copy code.
import { showStatus } from './page_elements.js';

/** One above each piece of code; where the browser does not allow to copy, the code is selected. */
export function offerCopies() {
  for (const code of document.querySelectorAll('pre')) {
    const head = /** @type {HTMLElement} */ (code.previousElementSibling);
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: 'Copy', ariaLabel: `Copy: ${head.textContent}` });
    button.addEventListener('click', () => {
      const written = navigator.clipboard?.writeText(code.textContent) ?? Promise.reject(new Error('no clipboard'));
      written.then(
        () => showStatus(`Copied: ${head.textContent}.`),
        () => {
          getSelection()?.selectAllChildren(code);
          showStatus('This page may not copy: the code is selected.');
        },
      );
    });
    head.after(button);
  }
}
