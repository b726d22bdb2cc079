// Records from the microphone into a field of a file.

/**
 * A button that begins and ends a recording, which becomes the field's file; hidden where a page has no microphone, as those
 * that are not secure.
 * @param {HTMLInputElement} field
 * @param {string} name the input's
 * @param {(error: Error) => void} fail
 */
export function recordSound(field, name, fail) {
  const button = document.createElement('button');
  const show = (/** @type {string} */ textContent) =>
    Object.assign(button, { type: 'button', textContent, ariaLabel: `${textContent} ${name}`, disabled: false });
  show('Record').hidden = !navigator.mediaDevices;
  /** @type {MediaRecorder | undefined} */
  let recorder;

  async function record() {
    button.disabled = true;
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    recorder = new MediaRecorder(stream);
    recorder.addEventListener('dataavailable', ({ data }) => {
      const made = new DataTransfer();
      made.items.add(new File([data], 'recording', { type: data.type }));
      field.files = made.files;
    });
    recorder.addEventListener('stop', () => {
      for (const track of stream.getTracks()) track.stop();
      show('Record');
    });
    recorder.start();
    show('Stop');
  }

  button.addEventListener('click', () => {
    if (recorder?.state === 'recording') return recorder.stop();
    return record().catch((error) => {
      show('Record');
      fail(error);
    });
  });
  return button;
}
