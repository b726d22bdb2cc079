// The inputs of a case and the outputs that are expected of it, from the files that the harness wrote.
import { typedArray } from '../../runtime-js/values/dtypes.js';

export async function fetchBytes(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return response.arrayBuffer();
}

export async function fetchCase(folder) {
  const described = await (await fetch(`${folder}/case.json`)).json();
  const read = async ({ name, dtype, shape, file }) => {
    return { name, dtype, shape, data: typedArray(dtype, await fetchBytes(`${folder}/${file}`)) };
  };
  return {
    inputs: await Promise.all(described.inputs.map(read)),
    outputs: await Promise.all(described.outputs.map(read)),
  };
}

/** The largest error over all outputs, relative to max(1, largest magnitude of that output). */
export function largestError(expected, results) {
  let worst = 0;
  for (const { name, data } of expected) {
    const got = results[name];
    if (!got || got.length !== data.length) return Number.POSITIVE_INFINITY;
    let error = 0;
    let scale = 1;
    for (let i = 0; i < data.length; i++) {
      const difference = Math.abs(Number(got[i]) - Number(data[i]));
      if (Number.isNaN(difference)) return Number.POSITIVE_INFINITY;
      error = Math.max(error, difference);
      scale = Math.max(scale, Math.abs(Number(data[i])));
    }
    worst = Math.max(worst, error / scale);
  }
  return worst;
}
