// Reads model.js and the JSON of a bundle, and prints as JSON what they say: names, and what is more than data.
// node read_bundle.mjs FOLDER MARK

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, mark] = process.argv.slice(2);
const read = (name) => readFileSync(join(folder, name), 'utf8');
const faults = [];

const source = read('model.js')
  .replace(/^import \{ cacheOf, load as start \}.*$/m, 'const cacheOf = () => undefined, start = (manifest) => manifest;')
  .replace(/^export \{.*\} from .*$/m, '');
const { load } = await import(`data:text/javascript,${encodeURIComponent(source.replaceAll('import.meta.url', "'file:///a/'"))}`);
const manifest = load();
if (globalThis[mark] !== undefined) faults.push('model.js runs a name');

for (const name of readdirSync(folder).filter((name) => name.endsWith('.txt'))) {
  const sources = JSON.parse(read(name)).kernels?.source ?? [];
  if (sources.some((text) => text?.includes(mark))) faults.push(`${name}: a shader has a name`);
}

const list = (ports) => ports.map(({ name }) => name);
console.log(
  JSON.stringify({
    faults,
    name: manifest.name,
    inputs: list(manifest.inputs),
    outputs: list(manifest.outputs),
    dimensions: list(manifest.dimensions),
  }),
);
