import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Interface } from 'ethers/abi';
import { isHexString } from 'ethers/utils';
import { DomainError } from '../../core/errors.js';
import type { Address } from '../../core/units/address.js';
import { bytesToHex, isHexBytes, type Hex } from '../../core/units/hex.js';

type Artifact = { readonly abi: Interface; readonly bytecode: Hex; readonly deployedBytecode: Hex };

const require = createRequire(import.meta.url);

/** Artifact of an npm package with a hardhat-style `artifacts` folder, e.g. ('aa07', 'EntryPoint'). */
export function readNpmArtifact(name: 'aa06' | 'aa07' | 'aa08' | 'aa09', contract: string): Artifact {
  const path = `${name}/artifacts/${contract}.json`;
  try {
    return parseArtifact(readFileSync(require.resolve(path), 'utf8'), path);
  } catch (cause) {
    throw missing(path, cause);
  }
}

/** Runtime code of a canonical contract, which hardhat-predeploy has as raw bytes. */
export function readRuntimeCode(address: Address): Hex {
  const path = `hardhat-predeploy/bin/${address}.bytecode`;
  try {
    return bytesToHex(readFileSync(require.resolve(path)));
  } catch (cause) {
    throw missing(path, cause);
  }
}

/** Artifact of our own `contracts/`, e.g. 'HybridPaymaster06'. */
export function readOwnArtifact(contract: string): Artifact {
  const path = join(packageRoot(import.meta.dirname), 'contracts', 'artifacts', `${contract}.json`);
  return parseArtifact(readFileSync(path, 'utf8'), path);
}

/** Init code of a contract in `contracts/artifacts`, without constructor arguments, e.g. 'third-party/SingletonPaymaster07'. */
export function readInitCode(name: string): Hex {
  const path = join(packageRoot(import.meta.dirname), 'contracts', 'artifacts', `${name}.json`);
  const { bytecode } = JSON.parse(readFileSync(path, 'utf8')) as { readonly bytecode: unknown };
  if (!isHexBytes(bytecode)) throw new TypeError(`${path} must hold bytecode`);
  return bytecode;
}

/** Runtime code of Multicall3, as viem builds it for calls without a deployed contract; the literal is not exported. */
export function readMulticall3Code(): Hex {
  const file = join(packageFolder('viem'), '_esm', 'constants', 'contracts.js');
  const initCode = /multicall3Bytecode = '(0x[0-9a-f]+)'/.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  // Its constructor is the first 32 bytes: it returns the rest.
  const code = `0x${initCode.slice(2 + 64)}`;
  if (!isHexBytes(code) || code === '0x')
    throw new DomainError('UNAVAILABLE', `${file} has no init code of Multicall3`);
  return code;
}

function packageFolder(name: string): string {
  try {
    return packageRoot(dirname(require.resolve(name)), name);
  } catch (cause) {
    throw missing(name, cause);
  }
}

/** Nearest folder upwards with our package.json (or that of `name`): compiled files lie deeper than their sources. */
function packageRoot(from: string, name = 'paymaster-operator'): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file) && readFileSync(file, 'utf8').includes(`"name": "${name}"`)) return folder;
    if (dirname(folder) === folder) throw new Error(`no package.json of ${name} above ${from}`);
  }
}

function parseArtifact(text: string, path: string): Artifact {
  const artifact: unknown = JSON.parse(text);
  if (typeof artifact !== 'object' || artifact === null) throw new Error(`${path} must be an object`);
  const { abi, bytecode, deployedBytecode } = { abi: [], bytecode: '', deployedBytecode: '', ...artifact };
  if (!isHexString(bytecode) || !isHexString(deployedBytecode)) throw new Error(`${path} must hold bytecode`);
  return {
    abi: new Interface(abi),
    bytecode: `0x${bytecode.slice(2)}`,
    deployedBytecode: `0x${deployedBytecode.slice(2)}`,
  };
}

function missing(what: string, cause: unknown): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    `${what} is not installed: the dev chain needs development dependencies, run "npm ci --include=dev"`,
    { cause },
  );
}
