/**
 * Compiles contracts/*.sol with the pinned npm `solc` and writes contracts/artifacts/*.json, each with the input of the
 * compiler beside it, and copies the code of others
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
for (const file of files) {
  const name = file.replace(/\.sol$/, '');
  const input = inputOf(file);
  bring(`${name}.json`, compile(file, input));
  bring(`${name}.input.json`, `${JSON.stringify(input, undefined, 2)}\n`);
}
for (const version of ['07', '08', '09'])
  bring(
    `third-party/EntryPointSimulations${version}.json`,
    copyOf(`aa${version}`, 'core', 'EntryPointSimulations', ['deployedBytecode']),
  );
bring('third-party/VerifyingPaymaster07.json', copyOf('aa07', 'samples', 'VerifyingPaymaster', ['bytecode']));
for (const version of ['06', '07', '08'])
  bring(`third-party/SingletonPaymaster${version}.json`, singletonPaymaster(version));
// Of the repository that the package comes from, which has no licence file itself.
bring('third-party/MIT.txt', readFileSync(besides('permissionless', 'LICENSE'), 'utf8'));
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
function copyOf(name, folder, contract, members) {
  const { version } = require(`${name}/package.json`);
  const source = readFileSync(require.resolve(`${name}/${folder}/${contract}.sol`), 'utf8');
  const artifact = require(`${name}/artifacts/${contract}.json`);
  const copy = {
    contractName: contract,
    source: `${folder}/${contract}.sol of the npm package @account-abstraction/contracts@${version}`,
    license: /SPDX-License-Identifier: (\S+)/.exec(source)[1],
    ...Object.fromEntries(members.map((member) => [member, artifact[member]])),
  };
  return `${JSON.stringify(copy, undefined, 2)}\n`;
}

/** Its package exports the init code only inside functions that import a whole client, so the literal is read from the file. */
function singletonPaymaster(version) {
  const {
    name,
    version: release,
    license,
  } = JSON.parse(readFileSync(besides('@pimlico/mock-paymaster', 'package.json')));
  const text = readFileSync(besides('@pimlico/mock-paymaster', '_esm/constants.js'), 'utf8');
  const from = text.indexOf(`getSingletonPaymaster${version}InitCode = `);
  const copy = {
    contractName: `SingletonPaymasterV${Number(version)}`,
    source: `constants.ts of the npm package ${name}@${release}`,
    license,
    bytecode: /"(0x[0-9a-f]{1000,})"/.exec(text.slice(from))[1],
  };
  return `${JSON.stringify(copy, undefined, 2)}\n`;
}

/** A file of a package that does not export it. */
function besides(name, file) {
  return join(folder, '../node_modules', name, file);
}

/** Source and settings: what Sourcify and block explorers take to verify a contract that was deployed. */
function inputOf(file) {
  const content = readFileSync(join(folder, file), 'utf8');
  return { language: 'Solidity', sources: { [file]: { content } }, settings };
}

function compile(file, input) {
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const problems = (output.errors ?? []).map((problem) => problem.formattedMessage);
  if (problems.length > 0)
    throw new Error(`${file} must compile without errors and warnings:\n${problems.join('\n')}`);
  const name = file.replace(/\.sol$/, '');
  const contract = output.contracts[file][name];
  const artifact = {
    contractName: name,
    sourceHash: `sha256:${createHash('sha256').update(input.sources[file].content).digest('hex')}`,
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
