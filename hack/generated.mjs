// Files that `make generate` writes. With `--check` nothing is written, and the process fails when one is not current.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const options = process.argv.slice(2);

/** The project, or another folder that is given, for tests. */
export const root =
  options.find((option) => !option.startsWith('--')) ?? join(dirname(fileURLToPath(import.meta.url)), '..');

export function readText(name) {
  return readFileSync(join(root, name), 'utf8');
}

export function bring(name, text) {
  if (!options.includes('--check')) writeFileSync(join(root, name), text);
  else if (present(name) !== text) {
    console.error(`not up to date: ${name}: run "make generate" and commit the result`);
    process.exitCode = 1;
  }
}

/** Undefined for one that is missing. */
function present(name) {
  try {
    return readText(name);
  } catch {
    return undefined;
  }
}
