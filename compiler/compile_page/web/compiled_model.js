// A compiled model in the page: its files, and what can be done with them.

import { withUrls } from '../../../rpc/device_page/with_urls.js';
import { describeAnswers } from '../../../runtime-js/answers/answers.js';
import { sizes } from '../../../runtime-js/values/bind_sizes.js';
import { shownShape } from '../../../runtime-js/values/sizes.js';

/** @typedef {import('./types.js').Report} Report */
/** @typedef {import('../../../runtime-js/model.js').LoadOptions} LoadOptions */
/** @typedef {import('../../../runtime-js/model.js').Model} Model */
/** @typedef {import('../../../runtime-js/values/sizes.js').Dimension} Dimension */
/** @typedef {Map<string, Uint8Array<ArrayBuffer>>} Files */

export class CompiledModel {
  #manifest;
  #pack;

  /**
   * @param {{ name: string, manifest: any, code: string, report: Report }} compiled
   * @param {Files} files
   * @param {(name: string, files: Files) => Promise<Blob>} pack
   */
  constructor({ name, manifest, code, report }, files, pack) {
    this.name = name;
    this.code = code;
    this.files = files;
    this.report = report;
    // As the runtime's `load` has them, which is not there yet.
    const { inputs, outputs, answers = [] } = manifest;
    const dimensions = /** @type {readonly Dimension[]} */ (manifest.dimensions ?? []);
    const own = inputs.filter((/** @type {any} */ { sampling }) => !sampling);
    this.inputs = own.map(shown);
    this.outputs = describeAnswers(answers, outputs.map(shown));
    // Those of states are what runs have left: here each begins anew.
    const decided = dimensions.filter(({ after }) => after === undefined);
    this.dimensions = decided.map(({ name, least, most, multiple, input }) => ({
      ...{ name, least, most, multiple },
      ...(input !== undefined && { input: inputs[input].name }),
    }));
    this.hasStates = manifest.states !== undefined;
    /** @type {Model['inputShapes']} */
    this.inputShapes = (extents) => sizes.shapesFor(dimensions, own, extents);
    this.#manifest = manifest;
    this.#pack = pack;
  }

  /**
   * @param {LoadOptions} [options]
   * @returns {Promise<Model>}
   */
  async load(options) {
    const { load } = await import('../../../runtime-js/load/load.js');
    const urls = publish(this.files);
    try {
      const model = await load(
        withUrls(this.#manifest, (_, name) => urls.get(name)),
        options,
      );
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

/** @param {import('../../../runtime-js/values/sizes.js').Spec} port */
const shown = ({ name, dtype, shape, picture, sound }) => ({
  ...{ name, dtype, shape: shownShape(shape) },
  ...(picture !== undefined && { picture }),
  ...(sound !== undefined && { sound }),
});

/**
 * Addresses of files, for this page alone.
 * @param {Files} files
 */
function publish(files) {
  /** @type {Record<string, string>} */
  const types = { js: 'text/javascript', json: 'application/json', wasm: 'application/wasm' };
  return new Map(
    [...files].map(([name, bytes]) => {
      const type = types[name.split('.').pop() ?? ''] ?? 'application/octet-stream';
      return [name, URL.createObjectURL(new Blob([bytes], { type }))];
    }),
  );
}

/** @param {Map<string, string>} urls */
function withdraw(urls) {
  for (const url of urls.values()) URL.revokeObjectURL(url);
}
