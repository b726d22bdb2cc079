// Tunes the model that runs, for the backend that it runs on.

import { backendName, percent, some } from './format.js';
import { showProblem, showStatus } from './page_status.js';

const SECONDS = 60;

/**
 * @param {object} of
 * @param {File[]} of.files
 * @param {import('./compile_form.js').Choice} of.choice
 * @param {string} of.records those that there are already
 * @param {AbortController} of.life of the job
 * @param {AbortSignal} of.stop aborted with the reason 'stop'
 * @param {import('./types.js').Compiler} of.compiler
 * @param {ReturnType<typeof import('./workbench.js').createWorkbench>} of.workbench
 * @param {ReturnType<typeof import('./tune_view.js').createTuneView>} of.view
 * @returns {Promise<{ records: string } | undefined>} undefined where nothing is faster, or after a failure, both said
 */
export async function tuneModel({ files, choice, records, life, stop, compiler, workbench, view }) {
  const { targets: _, limits: __, answerFiles, ...build } = choice;
  /** @type {{ records: string } | undefined} */
  let best;
  let ended = ''; // how, in words; nothing where the model was dropped
  showProblem('');
  try {
    await workbench.withModel('tune', async (use) => {
      const target = /** @type {import('./types.js').Target} */ (use.model.backend);
      const signal = AbortSignal.any([life.signal, use.life.signal, stop]);
      view.say('Run nothing else on this device meanwhile, and keep this tab in view.');
      showStatus(`Tuning for ${backendName(target)}`, 'some');
      const tuned = await compiler.tune([...files, ...answerFiles], {
        ...{ target, seconds: SECONDS, ...build, signal },
        ...(records ? { records } : {}),
        onStatus: (status) => !use.life.signal.aborted && view.show(status),
      });
      const { gain, trials, failed, device } = tuned;
      const tried = `${some(trials, 'trial')}${failed ? `, ${failed} failed,` : ''} on ${device}`;
      ended =
        gain < 1
          ? `Tuned for ${backendName(target)}: ${percent(gain)} of the default's time ` +
            `(${(1 / gain).toFixed(2)} times as fast), after ${tried}.`
          : `Nothing faster than the default was found: ${tried}.`;
      if (gain < 1) best = { records: join(records, tuned.records) };
    });
  } catch (error) {
    if (!life.signal.aborted) showProblem(error);
  }
  if (life.signal.aborted) return undefined;
  view.end();
  view.say(ended);
  const { model } = workbench.loaded() ?? {};
  if (model) showStatus(`Running on ${backendName(model.backend)}.`);
  return best;
}

/**
 * Adds records to earlier ones: those of other backends stay.
 * @param {string} before
 * @param {string} more
 */
function join(before, more) {
  const lines = new Set(`${before}\n${more}`.split('\n').filter(Boolean));
  return [...lines].map((line) => `${line}\n`).join('');
}
