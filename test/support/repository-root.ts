import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with tsconfig.base.json: files that are not compiled (examples, crds, vectors) are read from there. */
export const repositoryRoot = find(dirname(fileURLToPath(import.meta.url)));

function find(from: string): string {
  return existsSync(join(from, 'tsconfig.base.json')) ? from : find(dirname(from));
}
