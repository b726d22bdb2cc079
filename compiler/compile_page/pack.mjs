// Runs pack.py in Pyodide: node pack.mjs PYODIDE FOLDER
import { pathToFileURL } from 'node:url';

const [pyodide, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`).href);
const python = await loadPyodide({ indexURL: `${pyodide}/` });
python.mountNodeFS('/work', folder);
python.runPython(`
import os, runpy
os.chdir('/work')
runpy.run_path('pack.py', run_name='__main__')
`);
