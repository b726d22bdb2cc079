// A compiled bundle.
export async function create(folder, { bundle, ...options }) {
  const { load } = await import(`${folder}/${bundle}/model.js`);
  const model = await load(options);
  return {
    run: (inputs) => model.run(Object.fromEntries(inputs.map(({ name, data }) => [name, data]))),
    facts: () => model.info(),
  };
}
