import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with our package.json. Examples and artifacts are read from there; they are not copied into dist/. */
export function findRoot(moduleUrl: string): string {
  return search(dirname(fileURLToPath(moduleUrl)));
}

function search(folder: string): string {
  const file = join(folder, 'package.json');
  if (existsSync(file) && readFileSync(file, 'utf8').includes('"paymaster-operator"')) return folder;
  return search(dirname(folder));
}
