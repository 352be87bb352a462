/**
 * Compiles contracts/*.sol with the pinned npm `solc` and writes contracts/artifacts/*.json, and copies the code of others
 * that production needs to contracts/artifacts/third-party/, each with its source and licence. The artifacts are committed, so
 * that nothing at run time needs a compiler or those packages. `--check` compares instead of writing and fails when one is stale.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
const solc = require('solc');
const folder = import.meta.dirname;
const artifacts = join(folder, 'artifacts');
/** Paris has no PUSH0: the same bytes deploy on chains that are behind. No metadata hash: only the code decides the bytes. */
const settings = {
  optimizer: { enabled: true, runs: 10_000 },
  viaIR: true,
  evmVersion: 'paris',
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
};

const files = readdirSync(folder).filter((file) => file.endsWith('.sol'));
const isCheck = process.argv.includes('--check');
const stale = [];
mkdirSync(join(artifacts, 'third-party'), { recursive: true });
for (const file of files) bring(file.replace(/\.sol$/, '.json'), compile(file));
for (const version of ['07', '08', '09'])
  bring(`third-party/EntryPointSimulations${version}.json`, copyOf(`aa${version}`, 'EntryPointSimulations'));
if (stale.length > 0) {
  console.error(`Not current: ${stale.join(', ')}. Run "node contracts/build.mjs" and commit the result.`);
  process.exitCode = 1;
}

function bring(name, text) {
  const path = join(artifacts, name);
  if (!isCheck) writeFileSync(path, text);
  else if (readIfPresent(path) !== text) stale.push(path);
}

/** The licence is that of the source file, which is stricter than what the package's own package.json says. */
function copyOf(name, contract) {
  const { version } = require(`${name}/package.json`);
  const source = readFileSync(require.resolve(`${name}/core/${contract}.sol`), 'utf8');
  const copy = {
    contractName: contract,
    source: `core/${contract}.sol of the npm package @account-abstraction/contracts@${version}`,
    license: /SPDX-License-Identifier: (\S+)/.exec(source)[1],
    deployedBytecode: require(`${name}/artifacts/${contract}.json`).deployedBytecode,
  };
  return `${JSON.stringify(copy, undefined, 2)}\n`;
}

function compile(file) {
  const source = readFileSync(join(folder, file), 'utf8');
  const input = { language: 'Solidity', sources: { [file]: { content: source } }, settings };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const problems = (output.errors ?? []).map((problem) => problem.formattedMessage);
  if (problems.length > 0)
    throw new Error(`${file} must compile without errors and warnings:\n${problems.join('\n')}`);
  const name = file.replace(/\.sol$/, '');
  const contract = output.contracts[file][name];
  const artifact = {
    contractName: name,
    sourceHash: `sha256:${createHash('sha256').update(source).digest('hex')}`,
    solc: solc.version(),
    settings: { optimizer: settings.optimizer, viaIR: settings.viaIR, evmVersion: settings.evmVersion },
    abi: contract.abi,
    bytecode: `0x${contract.evm.bytecode.object}`,
    deployedBytecode: `0x${contract.evm.deployedBytecode.object}`,
  };
  return `${JSON.stringify(artifact, undefined, 2)}\n`;
}

function readIfPresent(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
