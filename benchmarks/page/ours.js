// A compiled bundle.
export async function create(folder, { bundle, ...options }) {
  const { load } = await import(`${folder}/${bundle}/model.js`);
  const model = await load(options);
  return {
    // Without those whose values the compiler was given.
    run: (inputs) =>
      model.run(
        Object.fromEntries(
          inputs
            .filter(({ name }) => model.inputs.some((input) => input.name === name))
            .map(({ name, data, shape }) => [name, { data, shape }]),
        ),
      ),
    facts: () => model.info(),
  };
}
