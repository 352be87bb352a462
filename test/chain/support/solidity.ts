import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Hex } from '../../../core/units/hex.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { asHex } from './account.js';

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<Record<string, Readonly<Record<string, Compiled>>>>;
};
type Compiled = { readonly evm: { readonly bytecode: { readonly object: string } } };

/**
 * Init code by contract name, of a file of this folder that imports from `packages`: compiled once for all test files, and kept
 * beside the installed packages.
 */
export function compileSolidity(file: string, packages: readonly string[]): Readonly<Record<string, Hex>> {
  const require = createRequire(import.meta.url);
  const versions = ['solc', ...packages].map(
    (name) => JSON.parse(readFileSync(require.resolve(`${name}/package.json`), 'utf8')).version,
  );
  const input = inputOf(file);
  const key = createHash('sha256')
    .update(JSON.stringify([versions, input]))
    .digest('hex');
  const cache = join(repositoryRoot, 'node_modules', '.cache', 'solc');
  const kept = join(cache, `${key}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
  const codes = compile(file, input);
  mkdirSync(cache, { recursive: true });
  // Another process may do the same.
  const draft = `${kept}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(codes));
  renameSync(draft, kept);
  return codes;
}

/** OpenZeppelin's package uses mcopy, which `cancun` is the first to have. */
function inputOf(file: string) {
  return {
    language: 'Solidity',
    sources: { [file]: { content: readFileSync(join(repositoryRoot, 'test/chain/support', file), 'utf8') } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      outputSelection: { [file]: { '*': ['evm.bytecode.object'] } },
    },
  };
}

function compile(file: string, input: ReturnType<typeof inputOf>): Readonly<Record<string, Hex>> {
  const require = createRequire(import.meta.url);
  const solc: { compile(input: string, callbacks: unknown): string } = require('solc');
  const read = (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') });
  const output: Output = JSON.parse(solc.compile(JSON.stringify(input), { import: read }));
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  return Object.fromEntries(
    Object.entries(output.contracts[file] ?? {}).map(([name, { evm }]) => [
      name,
      asHex(`0x${evm.bytecode.object}`),
    ]),
  );
}
