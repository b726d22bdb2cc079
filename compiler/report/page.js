// Filters and orders the kernels of each target, opens the one that is clicked on in a drawing, and unpacks sources.

for (const controls of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.controls'))) {
  const input = /** @type {HTMLInputElement} */ (controls.querySelector('input'));
  const select = /** @type {HTMLSelectElement} */ (controls.querySelector('select'));
  const output = /** @type {HTMLOutputElement} */ (controls.querySelector('output'));
  const list = /** @type {HTMLElement} */ (controls.nextElementSibling);
  const kernels = /** @type {HTMLDetailsElement[]} */ ([...list.children]);
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/);
    for (const kernel of kernels) kernel.hidden = !words.every((word) => kernel.dataset.words?.includes(word));
    const shown = kernels.filter((kernel) => !kernel.hidden).length;
    output.textContent = input.value ? `${shown} of ${kernels.length} kernels` : '';
  });
  select.addEventListener('change', () => {
    const by = /** @param {HTMLElement} kernel */ (kernel) => Number(kernel.dataset[select.value]);
    const sign = select.value === 'first' ? 1 : -1;
    list.append(...[...kernels].sort((a, b) => sign * (by(a) - by(b))));
  });
  controls.hidden = false;
}

document.addEventListener('click', ({ target }) => {
  const id = target instanceof Element && target.closest('[data-kernel]')?.getAttribute('data-kernel');
  const kernel = id && document.getElementById(id);
  if (!(kernel instanceof HTMLDetailsElement)) return;
  kernel.hidden = false;
  kernel.open = true;
  kernel.scrollIntoView({ block: 'center' });
  kernel.querySelector('summary')?.focus();
});

for (const source of document.querySelectorAll('.source')) {
  source.addEventListener('toggle', () => unpack(/** @type {HTMLElement} */ (source.querySelector('[data-gzip]'))), {
    once: true,
  });
}

/** @param {HTMLElement} code */
async function unpack(code) {
  const packed = Uint8Array.from(atob(code.dataset.gzip ?? ''), (c) => c.charCodeAt(0));
  const text = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  code.textContent = await text;
}
