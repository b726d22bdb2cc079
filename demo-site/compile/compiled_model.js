// A compiled model in the page: its files, and what can be done with them.

/** @typedef {import('./compiler.js').Report} Report */
/** @typedef {import('../../runtime-js/model.js').LoadOptions} LoadOptions */
/** @typedef {import('../../runtime-js/model.js').Model} Model */
/** @typedef {Map<string, Uint8Array<ArrayBuffer>>} Files */

/** @implements {import('./compiler.js').CompiledModel} */
export class CompiledModel {
  #manifest;
  #pack;

  /**
   * @param {{ name: string, manifest: any, report: Report }} found
   * @param {Files} files
   * @param {(name: string, files: Files) => Promise<Blob>} pack
   */
  constructor({ name, manifest, report }, files, pack) {
    this.name = name;
    this.files = files;
    this.report = report;
    this.#manifest = manifest;
    this.#pack = pack;
  }

  /**
   * @param {LoadOptions} [options]
   * @returns {Promise<Model>}
   */
  async load(options) {
    const { load } = await import('../../runtime-js/load/load.js');
    const urls = publish(this.files);
    try {
      const model = await load(locate(this.#manifest, urls), options);
      const dispose = model.dispose;
      // A device that was lost has the weights loaded again.
      model.dispose = async () => {
        await dispose.call(model);
        withdraw(urls);
      };
      return model;
    } catch (error) {
      withdraw(urls);
      throw error;
    }
  }

  zip() {
    return this.#pack(this.name, this.files);
  }
}

/**
 * Addresses of files, for this page alone.
 * @param {Files} files
 */
export function publish(files) {
  const types = { js: 'text/javascript', json: 'application/json', wasm: 'application/wasm' };
  return new Map(
    [...files].map(([name, bytes]) => {
      const type = types[/** @type {keyof types} */ (name.split('.').pop())] ?? 'application/octet-stream';
      return [name, URL.createObjectURL(new Blob([bytes], { type }))];
    }),
  );
}

/** @param {Map<string, string>} urls */
export function withdraw(urls) {
  for (const url of urls.values()) URL.revokeObjectURL(url);
}

/**
 * The manifest with the address of each file.
 * @param {any} value
 * @param {Map<string, string>} urls
 * @returns {any}
 */
export function locate(value, urls) {
  if (Array.isArray(value)) return value.map((element) => locate(element, urls));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, field]) => [key, locate(field, urls)]);
  return Object.fromEntries(value.file ? [...fields, ['url', urls.get(value.file)]] : fields);
}
