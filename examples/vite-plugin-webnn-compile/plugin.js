// Imports of ONNX files in a vite project: each is compiled into a bundle, whose model.js takes its place.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';

const FOLDER = join('node_modules', '.webnn-compile');

/** @type {(settings?: import('./plugin.d.ts').Settings) => import('vite').Plugin} */
export default function webnnCompile({ command = ['webnn-compile'], options = [] } = {}) {
  /** @type {import('vite').ResolvedConfig} */
  let config;
  /** @type {Map<string, Promise<string>>} by the import, model.js */
  const compiled = new Map();
  /** @type {Map<string, string[]>} by file, the imports that it is compiled for */
  const imports = new Map();

  /**
   * @param {string} file
   * @param {string} query
   */
  const compile = async (file, query) => {
    const given = [...options, ...optionsOf(query)];
    const key = createHash('sha256')
      .update(JSON.stringify([file, given]))
      .digest('hex');
    const out = join(config.root, FOLDER, `${basename(file, '.onnx')}-${key.slice(0, 12)}`);
    const { mtimeMs, size } = await stat(file);
    const state = JSON.stringify([mtimeMs, size, command]);
    const known = await readFile(`${out}.json`, 'utf8').catch(() => '');
    if (known !== state) {
      config.logger.info(`webnn-compile ${basename(file)} ...`);
      await run([...command, file, '--out', out, '--force', ...given], config.root);
      await writeFile(`${out}.json`, state);
    }
    return join(out, 'model.js');
  };
  /**
   * @param {string} file
   * @param {string} query
   */
  const modelOf = (file, query) => {
    const key = `${file}?${query}`;
    let made = compiled.get(key);
    if (!made) {
      made = compile(file, query);
      made.catch(() => compiled.delete(key)); // another import tries again
      compiled.set(key, made);
      imports.set(file, [...new Set([...(imports.get(file) ?? []), key])]);
    }
    return made;
  };

  return {
    name: 'webnn-compile',
    enforce: 'pre',
    configResolved(resolved) {
      config = resolved;
    },
    async resolveId(source, importer) {
      const [path = '', query = ''] = source.split(/\?(.*)/s);
      if (!path.endsWith('.onnx')) return undefined;
      const file = path.startsWith('/')
        ? join(config.root, path)
        : path.startsWith('.') && importer
          ? resolve(dirname(importer.replace(/\?.*/s, '')), path)
          : (await this.resolve(path, importer, { skipSelf: true }))?.id;
      if (file === undefined || !(await stat(file).catch(() => undefined))) {
        this.error(`${source}: there is no file ${file ?? path}, which ${importer} imports`);
      }
      this.addWatchFile(file);
      try {
        return await modelOf(file, query);
      } catch (error) {
        return this.error(/** @type {Error} */ (error).message);
      }
    },
    configureServer(server) {
      server.watcher.on('change', (file) => {
        const affected = imports.get(file);
        if (!affected) return;
        for (const key of affected) compiled.delete(key);
        server.moduleGraph.invalidateAll();
        server.ws.send({ type: 'full-reload' });
      });
    },
    watchChange(file) {
      for (const key of imports.get(file) ?? []) compiled.delete(key);
    },
  };
}

/** @param {string} query such as dim=N=1&coop-coep */
function optionsOf(query) {
  return [...new URLSearchParams(query)].flatMap(([name, value]) => (value ? [`--${name}`, value] : [`--${name}`]));
}

/**
 * @param {readonly string[]} command
 * @param {string} folder
 * @returns {Promise<void>}
 */
function run([program = '', ...parameters], folder) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, parameters, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (data) => {
      said += data;
    });
    child.on('error', (error) => {
      const hint = 'pip install webnn-compile, or say where it is by webnnCompile({ command: [...] })';
      reject(new Error(`${program} could not be started (${error.message}): ${hint}`));
    });
    child.on('close', (code) => {
      // Lines before are progress.
      if (code === 0) resolve();
      else
        reject(new Error(said.slice(Math.max(said.search(/^error: /im), 0)).trim() || `${program} ended with ${code}`));
    });
  });
}
