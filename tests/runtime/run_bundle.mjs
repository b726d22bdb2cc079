// Runs a bundle as the test says, by JSON on stdin and stdout: { bundle, backend?, repeat, runs: [{ input: { dtype, shape,
// values } }] }.
import { readFileSync } from 'node:fs';

const { bundle, backend, repeat, runs } = JSON.parse(readFileSync(0, 'utf8'));
const { load } = await import(bundle);
const model = await load({ ...(backend && { backend }) });
const kinds = { float32: Float32Array, int64: BigInt64Array, bool: Uint8Array };
const given = ({ dtype, shape, values }) => {
  const data = kinds[dtype].from(values, dtype === 'int64' ? BigInt : Number);
  return { data, shape };
};
const plain = (outputs) =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, array]) => [
      name,
      { shape: array.shape, values: Array.from(array, Number), buffer: array.buffer.byteLength },
    ]),
  );
const counts = async (inputs, repeat) => (await model.profile(inputs, { repeat })).map(({ count }) => count);

// Room for the largest size, with a gap before it.
const rooms = Object.fromEntries(
  model.outputs.map(({ name, dtype }) => [name, new kinds[dtype](new ArrayBuffer(8192), 64)]),
);
const found = [];
for (const run of runs) {
  const inputs = Object.fromEntries(Object.entries(run).map(([name, input]) => [name, given(input)]));
  const fresh = plain(await model.run(inputs));
  const results = await model.run(inputs, { into: rooms });
  const views = Object.entries(results).every(([name, view]) => view.buffer === rooms[name].buffer);
  const counted = [await counts(inputs, 1), await counts(inputs, repeat)];
  found.push({ fresh, into: plain(results), views, counted, again: plain(await model.run(inputs)) });
}
const { passedOver, ...info } = model.info();
await model.dispose();
process.stdout.write(
  JSON.stringify({ backend: info.backend, variant: info.variant, passedOver, integrity: info.integrity, found }),
);
