import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Interface } from 'ethers';
import type { LayoutId } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import type { OpenZeppelinOptions } from '../../../core/paymaster/openzeppelin/options.js';
import { parseAddress } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { parseEther } from '../../../core/units/wei.js';
import { withArguments } from '../../../standalone/dev-chain/canonical.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { asHex, encodeWith } from './account.js';
import type { DevChain } from './dev-chain.js';
import type { TestProfile } from './user-op.js';

// OpenZeppelin publishes abstract contracts. The concrete ones here are compiled from the published package.

/** Profiles of the contracts that {@link deployOpenZeppelin} deploys. */
export const openZeppelinNames = [
  'openzeppelin-0.7',
  'openzeppelin-0.8',
  'openzeppelin-0.9',
  'openzeppelin-0.8 by delegate',
  'openzeppelin-0.9 by delegate',
  'openzeppelin-0.9 with tail',
] as const;
type Name = (typeof openZeppelinNames)[number];

const settings: OpenZeppelinOptions = {
  domainName: 'Test Paymaster',
  domainVersion: '1',
  initCodeHash: 'AsGiven',
  readsPaymasterSignature: false,
};

/** Compiles and deploys a contract for each of the names, with a deposit in its EntryPoint. Default: all. */
export async function deployOpenZeppelin(
  devChain: DevChain,
  names: readonly Name[] = openZeppelinNames,
): Promise<ReadonlyMap<string, TestProfile>> {
  const codes = compiled();
  const profiles = new Map<string, TestProfile>();
  for (const name of names) {
    const profile = await deploy(devChain, name, codes[contractOf(name)]!);
    profiles.set(name, profile);
  }
  return profiles;
}

function contractOf(name: Name): string {
  if (name.endsWith('tail')) return 'ReadsTail';
  return name.endsWith('delegate') ? 'HashesDelegate' : 'AsPublished';
}

async function deploy(devChain: DevChain, version: Name, code: Hex): Promise<TestProfile> {
  const layout = version.split(' ')[0] as LayoutId;
  const { entryPointVersion } = layouts[layout];
  const entryPoint = devChain.deployments.entryPoints[entryPointVersion];
  const signer = parseAddress(devChain.sponsorSigner.address);
  const initCode = withArguments(code, ['address', 'address'], [entryPoint, signer]);
  const sponsorship = create2Address(initCode);
  await deployOnce(devChain.chain, devChain.transactor, { name: version, address: sponsorship, initCode });
  await devChain.transactor.send(`deposit of ${version}`, {
    to: entryPoint,
    data: encodeWith(stakeManager, 'depositTo', [sponsorship]),
    value: parseEther('10'),
  });
  const openZeppelin: OpenZeppelinOptions = {
    ...settings,
    ...(version.endsWith('delegate') ? { initCodeHash: 'Delegate' } : {}),
    ...(version.endsWith('tail') ? { readsPaymasterSignature: true } : {}),
  };
  return { version, layout, entryPoint, entryPointVersion, sponsorship, options: { openZeppelin } };
}

const stakeManager = new Interface(['function depositTo(address account) payable']);

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<Record<string, Readonly<Record<string, Compiled>>>>;
};
type Compiled = { readonly evm: { readonly bytecode: { readonly object: string } } };

/** Init code by contract name, compiled once for all test files and kept beside the installed packages. */
function compiled(): Readonly<Record<string, Hex>> {
  const require = createRequire(import.meta.url);
  const versions = ['solc', '@openzeppelin/contracts'].map(
    (name) => JSON.parse(readFileSync(require.resolve(`${name}/package.json`), 'utf8')).version,
  );
  const input = inputOf();
  const key = createHash('sha256')
    .update(JSON.stringify([versions, input]))
    .digest('hex');
  const cache = join(repositoryRoot, 'node_modules', '.cache', 'solc');
  const kept = join(cache, `${key}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
  const codes = compile(input);
  mkdirSync(cache, { recursive: true });
  // Another process may do the same.
  const draft = `${kept}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(codes));
  renameSync(draft, kept);
  return codes;
}

const file = 'OpenZeppelinPaymasters.sol';

/** The package uses mcopy, which `cancun` is the first to have. */
function inputOf() {
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

function compile(input: ReturnType<typeof inputOf>): Readonly<Record<string, Hex>> {
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
