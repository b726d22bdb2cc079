// Files come by drop anywhere on the page, by the file chooser, and by paste.

import { element } from './elements.js';

/** @param {(files: File[]) => void} take */
export function createDropZone(take) {
  const chooser = element('files', HTMLInputElement);
  chooser.addEventListener('change', () => {
    const files = [...(chooser.files ?? [])];
    chooser.value = ''; // so that the same file can be chosen again, and no reference to it stays
    if (files.length) take(files);
  });

  // A dragged file passes over many elements: the page is left when as many were left as were entered.
  let inside = 0;
  /** @param {number} change */
  const move = (change) => {
    inside = change ? Math.max(0, inside + change) : 0;
    document.body.classList.toggle('dragging', inside > 0);
  };
  /** @param {DragEvent} event */
  const hasFiles = (event) => event.dataTransfer?.types.includes('Files') ?? false;
  addEventListener('dragenter', (event) => hasFiles(event) && move(1));
  addEventListener('dragleave', (event) => hasFiles(event) && move(-1));
  addEventListener('dragover', (event) => {
    if (hasFiles(event)) event.preventDefault(); // or the browser would open the file
  });
  addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    move(0);
    take([...(event.dataTransfer?.files ?? [])]);
  });
  addEventListener('paste', (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) take(files);
  });
}
