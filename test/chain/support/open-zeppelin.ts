import { Interface } from 'ethers';
import type { LayoutId } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import type { OpenZeppelinOptions } from '../../../core/paymaster/openzeppelin/options.js';
import { parseAddress } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { parseEther } from '../../../core/units/wei.js';
import { withArguments } from '../../../standalone/dev-chain/canonical.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import { encodeWith } from './account.js';
import type { DevChain } from './dev-chain.js';
import { compileSolidity } from './solidity.js';
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
  const codes = compileSolidity('OpenZeppelinPaymasters.sol', ['@openzeppelin/contracts']);
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
