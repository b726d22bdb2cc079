// Drop an ONNX file, get a running model: starts the compiler, takes files, describes, compiles, tunes.

import { createCompileForm } from './compile_form.js';
import { openCompiler } from './compiler.js';
import { createDropZone } from './drop_zone.js';
import { element } from './elements.js';
import { keepFiles } from './keep_files.js';
import { hideCard, showCard } from './model_card.js';
import { setState, showBytes, showNotice, showProblem, showStatus } from './page_status.js';
import { isModel, MODELS } from './read_source.js';
import { sortFiles } from './sort_files.js';
import { tuneModel } from './tune_model.js';
import { createTuneView } from './tune_view.js';
import { createUseIt } from './use_it.js';
import { createWorkbench } from './workbench.js';

/** @typedef {import('./compile_form.js').Choice} Choice */
/**
 * @typedef {object} Job A model that someone dropped.
 * @property {File[]} files
 * @property {AbortController} life aborted when another model takes its place
 * @property {string} records of what was tuned, a line each
 * @property {import('./types.js').Card} [card]
 * @property {Choice} [choice] what it was compiled with
 * @property {AbortController} [compiling]
 * @property {AbortController} [tuning]
 */

/** @type {import('./types.js').Compiler | undefined} */
let compiler;
/** @type {import('./types.js').Formats} */
let formats;
/** @type {Job | undefined} */
let job;

const workbench = createWorkbench();
const useIt = createUseIt(showProblem);
const form = createCompileForm(compile, () => job?.compiling?.abort(new DOMException('cancelled', 'AbortError')));
const tuneView = createTuneView(tune, () => job?.tuning?.abort('stop'));
const again = element('again', HTMLButtonElement);
again.addEventListener('click', startCompiler);
createDropZone(take);

async function startCompiler() {
  again.hidden = true;
  setState('loading');
  showProblem('');
  showStatus('Loading the compiler', 'some');
  try {
    compiler = await openCompiler({ onProgress: tellStart, onRestart: tellRestart });
    formats = await compiler.formats();
  } catch (error) {
    setState('error');
    showStatus('The compiler could not start.');
    showProblem(error);
    again.hidden = false;
    return;
  }
  setState('ready');
  showStatus('The compiler is ready.');
  if (job) await describe(job);
}

/** @param {import('./types.js').Progress} progress */
function tellStart(progress) {
  const waits = job ? ` (${nameOf(job.files)} waits)` : '';
  if (progress.phase === 'download') showBytes(`Downloading the compiler${waits}`, progress);
  else showStatus(`Starting the compiler${waits}`, 'some');
}

/** @param {string} reason */
function tellRestart(reason) {
  showNotice(`The compiler was started again: ${reason}`);
}

/** @param {readonly File[]} files */
const nameOf = (files) => files.find(({ name }) => isModel(name))?.name ?? files[0]?.name ?? 'model.onnx';

/** @param {readonly File[]} files */
function take(files) {
  const { model, more, picture, labels, tensor } = sortFiles(files);
  if (model.length) open(model);
  else if (!workbench.loaded() && !job) showProblem(`None of these files is a model: it is named ${MODELS}.`);
  else if (more.length) addFiles(more);
  if (picture && job) takePicture(picture);
  if (labels && job) {
    form.giveLabels(labels);
    showStatus(`${labels.name} has the labels of an answer: compile again.`);
  }
  if (tensor && job) workbench.tryIt.loadTensor(tensor).catch(showProblem);
}

/** @param {File} file kept, where the model takes no picture yet */
function takePicture(file) {
  const { tryIt } = workbench;
  tryIt.loadPicture(file).catch(showProblem);
  if (tryIt.takesPicture() || !job?.card) return;
  form.askFormat();
  showStatus(`No input takes ${file.name} yet: choose a format of pictures, and compile again.`);
}

/**
 * External data that comes after its model, or another try at it.
 * @param {readonly File[]} more
 */
function addFiles(more) {
  const names = new Set(more.map(({ name }) => name));
  open([...(job?.files ?? []).filter(({ name }) => !names.has(name)), ...more]);
}

/** @param {File[]} files a model, which takes the place of the one before */
function open(files) {
  job?.life.abort(new DOMException('another model was dropped', 'AbortError'));
  workbench.clear();
  form.hide();
  useIt.hide();
  tuneView.clear();
  hideCard();
  if (compiler) showProblem('');
  showNotice('');
  job = { files, life: new AbortController(), records: '' };
  if (compiler) describe(job);
  // Else the compiler is on its way, and goes on with it; where it failed, the button is there.
}

/** @param {Job} mine */
async function describe(mine) {
  if (!compiler) return;
  setState('ready');
  showStatus(`Reading ${nameOf(mine.files)}`, 'some');
  try {
    mine.card = await compiler.describe(mine.files, { signal: mine.life.signal });
  } catch (error) {
    if (mine.life.signal.aborted) return;
    showStatus('This model cannot be read. Drop another file, or files that it lacks.');
    showProblem(error);
    return;
  }
  if (mine !== job) return;
  showCard(mine.card);
  setState('described');
  const choice = form.show(mine.card, formats);
  if (choice) await compile(choice);
  else showStatus('Fill in what is open, and compile.');
}

/** @param {Choice} choice */
async function compile(choice) {
  const mine = job;
  if (!mine?.card || !compiler || mine.compiling) return;
  workbench.unload();
  useIt.hide();
  showProblem('');
  setState('compiling');
  showStatus('Compiling', 'some');
  form.begin();
  const cancel = new AbortController();
  const signal = AbortSignal.any([mine.life.signal, cancel.signal]);
  mine.compiling = cancel;
  const { answerFiles, limits, ...options } = choice;
  let compiled;
  try {
    compiled = await compiler.compile([...mine.files, ...answerFiles], {
      ...options,
      ...limits,
      ...(mine.records ? { records: mine.records } : {}),
      signal,
      onProgress({ phase, ...bytes }) {
        if (signal.aborted) return;
        form.enter(phase);
        showBytes(`Compiling: ${phase}`, bytes);
      },
    });
  } catch (error) {
    if (mine.life.signal.aborted) return;
    form.fail();
    setState('described');
    showStatus(cancel.signal.aborted ? 'Cancelled.' : 'This model was not compiled.');
    if (!cancel.signal.aborted) showProblem(error);
    return;
  } finally {
    mine.compiling = undefined;
  }
  if (mine !== job) return;
  mine.choice = choice;
  form.finish(
    compiled.report,
    mine.files.reduce((sum, file) => sum + file.size, 0),
  );
  useIt.show(compiled, { file: nameOf(mine.files), choice, records: mine.records });
  await workbench.load(compiled, choice.targets);
}

async function tune() {
  const mine = job;
  if (!mine?.choice || !compiler) return;
  const { choice } = mine;
  mine.tuning = new AbortController();
  const tuned = await tuneModel({ ...mine, choice, stop: mine.tuning.signal, compiler, workbench, view: tuneView });
  mine.tuning = undefined;
  if (!tuned || mine !== job) return;
  mine.records = tuned.records;
  tuneView.setRecords(tuned.records);
  await compile(choice);
}

// What comes here has no caller that would show it.
addEventListener('error', ({ message }) => showProblem(message));
addEventListener('unhandledrejection', ({ reason }) => showProblem(reason));
await keepFiles();
await startCompiler();
