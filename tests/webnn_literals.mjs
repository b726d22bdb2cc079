// The graphs of web platform tests of WebNN as JSON: by name of file the tests that it hands to
// webnn_conformance_test, each with its tolerance; none for a file that tests the interface by calls.
//
//     node webnn_literals.mjs FILE ...

import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The tests of a file. The scripts that its comments name are around it, so that its own stub of the function that
 * runs tests hides theirs. */
function testsOf(path) {
  const text = readFileSync(path, 'utf8');
  const scripts = [...text.matchAll(/^\/\/ META: script=(\..*)$/gm)].map((found) => join(dirname(path), found[1]));
  const found = [];
  const stub = (...given) => {
    const [, tolerance] = given.filter((one) => typeof one === 'function');
    for (const { name, graph } of given.filter((one) => typeof one === 'object').flat()) {
      found.push({ name, graph, tolerance: toleranceOf(tolerance, graph) });
    }
  };
  const page = {
    location: { search: '' },
    navigator: { ml: {} },
    promise_setup() {},
    promise_test() {},
    test() {},
    Float16Array: Float32Array,
  };
  const around = scripts.map((script) => readFileSync(script, 'utf8')).join('\n');
  const body = `${around}\n(function (webnn_conformance_test) {\n${text}\n})(stub)`;
  new Function('stub', ...Object.keys(page), body)(stub, ...Object.values(page));
  return found;
}

/** The tolerance of a test by its file's function; none where that needs shapes inside the graph. */
function toleranceOf(tolerance, graph) {
  const shapes = new Proxy({}, { get: () => undefined });
  try {
    return tolerance(graph, shapes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Text for numbers that JSON lacks. */
function plain(_, value) {
  if (ArrayBuffer.isView(value)) return Array.from(value);
  return typeof value === 'bigint' || (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)))
    ? Object.is(value, -0) ? '-0' : String(value)
    : value;
}

const tests = process.argv.slice(2).map((path) => [basename(path), testsOf(path)]);
process.stdout.write(JSON.stringify(Object.fromEntries(tests), plain));
