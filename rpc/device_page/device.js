// The device page: this tab joins the broker that served it, and carries out requests of clients.

import { browserFacts } from './browser_facts.js';
import { runRequests } from './run_requests.js';
import { endSearch, showSearch } from './show_search.js';
import { stayConnected } from './socket.js';

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const button = /** @type {HTMLButtonElement} */ (element('stop'));

const token = location.hash.slice(1);
const NAME = 'webnn-rpc-name';
/** Identifies this tab when it reconnects. Not stored: a duplicated tab would have the same one. */
const tab = crypto.getRandomValues(new Uint32Array(4)).join('-');

/**
 * @param {'joined' | 'waiting' | 'stopped'} state
 * @param {string} text
 */
function show(state, text) {
  document.body.dataset.state = state;
  element('state').textContent = text;
}

/** @param {Record<string, string | undefined>} missing why, by what the browser lacks */
function showMissing({ webgpu, webgl, threads }) {
  const texts = [webgpu && `WebGPU: ${webgpu}`, webgl && `WebGL 2: ${webgl}`, threads && `Threads: ${threads}`];
  element('missing').replaceChildren(
    ...texts.filter(Boolean).map((text) => Object.assign(document.createElement('li'), { textContent: text })),
  );
}

/**
 * @param {string[]} backends
 * @param {Record<string, any>} facts
 */
function showFacts(backends, facts) {
  const rows = [
    ['Browser', facts.browser],
    ['Runs', backends.join(', ')],
    ['WebGPU', facts.webgpu?.adapter ?? 'none'],
    ['WebGL 2', facts.webgl?.adapter ?? 'none'],
    ['Processors', `${facts.processors}${facts.isolated ? '' : ' (one thread: the page is not isolated)'}`],
  ];
  element('facts').replaceChildren(
    ...rows.map(([name, value]) => {
      const row = document.createElement('tr');
      const heading = Object.assign(document.createElement('th'), { textContent: name, scope: 'row' });
      row.append(heading, Object.assign(document.createElement('td'), { textContent: value }));
      return row;
    }),
  );
}

async function start() {
  show('waiting', 'Looking at this browser');
  const { backends, facts } = await browserFacts();
  showFacts(backends, facts);
  showMissing(facts.missing);
  if (!token) {
    show('stopped', 'This address has no token: open the one that the broker prints.');
    return;
  }

  let files = '';
  let calls = 0;
  const requests = runRequests(
    (sha256) => new URL(files + sha256, location.href).href,
    (task) => {
      calls += task ? 1 : 0;
      element('task').textContent = task || 'nothing';
      element('calls').textContent = String(calls);
    },
    (status) => showSearch(element('search'), status),
    // A client's code runs in a worker, which ends with its model: in the page's thread a kernel that never ends would
    // keep the page from any other message.
    { worker: true },
  );
  const url = new URL('/socket', location.href);
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  url.hash = '';

  const join = () =>
    stayConnected(url.href, {
      hello: () => ({
        role: 'device',
        token,
        tab,
        name: sessionStorage.getItem(NAME) ?? facts.browser,
        backends,
        facts,
      }),
      joined(welcome) {
        files = welcome.files;
        sessionStorage.setItem(NAME, welcome.name);
        document.title = welcome.name;
        show('joined', `Joined as ${welcome.name}`);
      },
      message(message, reply) {
        if (message.header.op === 'released') endSearch(element('search'));
        if (message.header.op === 'released' || message.header.op === 'cancel') requests.release();
        else requests.answer(message, reply);
      },
      lost({ reason, delay }) {
        endSearch(element('search'));
        requests.release();
        const next = delay === undefined ? '' : `; next attempt in ${Math.ceil(delay / 1000)} s`;
        show(delay === undefined ? 'stopped' : 'waiting', `Not connected: ${reason}${next}`);
      },
    });

  let connection = join();
  let stopped = false;
  button.hidden = false;
  button.onclick = () => {
    stopped = !stopped;
    button.textContent = stopped ? 'Resume' : 'Stop';
    if (stopped) {
      connection.stop();
      requests.release();
      show('stopped', 'Stopped');
    } else {
      show('waiting', 'Connecting');
      connection = join();
    }
  };

  const showHidden = () => {
    element('hidden').hidden = !document.hidden;
  };
  document.addEventListener('visibilitychange', showHidden);
  showHidden();
}

start();
