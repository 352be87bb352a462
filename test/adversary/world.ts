import { Wallet } from 'ethers';
import type { LayoutId } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { OpenZeppelinOptions } from '../../core/paymaster/openzeppelin/options.js';
import { entryPoints } from '../../core/entry-point/address.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { parseAddress, toAddressKey, type AddressKey } from '../../core/units/address.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { describeDevChain } from '../../standalone/dev-chain/deployments.js';
import { sponsorSignerKey } from '../chain/support/dev-chain.js';
import { anAddress, chainId } from '../conformance/usage-requests.js';
import { layoutKinds } from './chain/layout-kinds.js';
import type { ContractSpec } from './chain/operations.js';

/** The dev chain's addresses, which are known without starting one, so that the model and a real chain have the same world. */
const deployments = describeDevChain(
  chainId,
  parseAddress(new Wallet(sponsorSignerKey).address),
  devAccounts.deployer.address,
);
const addressOf = (version: string): AddressKey =>
  toAddressKey(deployments.profiles.find((profile) => profile.version === version)!.sponsorship);

/** Three contracts that keep a balance per sponsor, four that pay from their one deposit. */
export const contracts = {
  hybrid06: addressOf('1.1.0'),
  hybrid07: addressOf('2.0.0'),
  plain07: addressOf('singleton-0.7'),
  /** Takes tokens in validation where its profile says so. */
  plain08: addressOf('singleton-0.8'),
  hybrid09: addressOf('hybrid-0.9'),
  verifying09: addressOf('verifying-0.9'),
  /** Compiled from the published package, with a subclass that reads the tail; the test on the real EntryPoints deploys it here. */
  openZeppelin09: toAddressKey('0xa746E3BB92E31D9131ba60eC2BEB5dEAD53b92f1'),
} as const;
export const defaultWallet = toAddressKey(deployments.defaultFunding);
/** Proven by the first organisation. */
export const ownWallet = anAddress(0xf1);
export const treasury = toAddressKey(deployments.treasury);
export const feeToken = toAddressKey(deployments.feeToken.address);
export const callTargets = { feeToken, counter: deployments.sponsoredContract.address };
export const senders = [0xa1, 0xa2, 0xa3, 0xa4].map(anAddress);
export const lossBudgetEther = '0.02';
export const confirmations = 2;

export type World = {
  readonly layout: LayoutId;
  readonly contract: AddressKey;
  readonly version: EntryPointVersion;
};
export const worlds: readonly World[] = [
  { layout: 'vendor-1.1.0', contract: contracts.hybrid06, version: '0.6' },
  { layout: 'vendor-2.x', contract: contracts.hybrid07, version: '0.7' },
  { layout: 'singleton-0.7', contract: contracts.plain07, version: '0.7' },
  { layout: 'singleton-0.8', contract: contracts.plain08, version: '0.8' },
  { layout: 'hybrid-0.9', contract: contracts.hybrid09, version: '0.9' },
  { layout: 'verifying-0.9', contract: contracts.verifying09, version: '0.9' },
  { layout: 'openzeppelin-0.9', contract: contracts.openZeppelin09, version: '0.9' },
];

export const specs: readonly ContractSpec[] = worlds.map(({ layout, contract, version }) => ({
  address: contract,
  entryPoint: toAddressKey(entryPoints[version]),
  version,
  ...layoutKinds[layout],
  tokenAccount: treasury,
}));

/** Paymasters of three organisations on shared contracts; one organisation has its own wallet. */
export const paymasters = [
  { paymasterId: 'a/one', namespace: 'a', version: 'vendor-2.x' },
  { paymasterId: 'a/two', namespace: 'a', version: 'vendor-2.x', fundingAddress: ownWallet },
  { paymasterId: 'b/one', namespace: 'b', version: 'vendor-2.x' },
  { paymasterId: 'b/two', namespace: 'b', version: 'singleton-0.7' },
  { paymasterId: 'c/one', namespace: 'c', version: 'singleton-0.7' },
  { paymasterId: 'c/two', namespace: 'c', version: 'vendor-1.1.0' },
  { paymasterId: 'a/three', namespace: 'a', version: 'singleton-0.8' },
  { paymasterId: 'c/three', namespace: 'c', version: 'singleton-0.8' },
  { paymasterId: 'b/three', namespace: 'b', version: 'hybrid-0.9' },
  { paymasterId: 'a/four', namespace: 'a', version: 'hybrid-0.9', fundingAddress: ownWallet },
  { paymasterId: 'b/four', namespace: 'b', version: 'verifying-0.9' },
  { paymasterId: 'c/four', namespace: 'c', version: 'verifying-0.9' },
  { paymasterId: 'a/five', namespace: 'a', version: 'openzeppelin-0.9' },
  { paymasterId: 'a/six', namespace: 'a', version: 'vendor-1.1.0', fundingAddress: ownWallet },
] as const;

/** Those whose organisation has proven a wallet. */
export const ownWalletPaymasters: readonly number[] = [...paymasters.keys()].filter(
  (index) => 'fundingAddress' in paymasters[index]!,
);

/** As the test's contract of OpenZeppelin was deployed. */
export const openZeppelin: OpenZeppelinOptions = {
  domainName: 'Test Paymaster',
  domainVersion: '1',
  initCodeHash: 'AsGiven',
  readsPaymasterSignature: true,
};

/** Those whose contract reads the signature from the tail, so that it can be made last. */
export const twoPhasePaymasters: readonly number[] = [...paymasters.keys()].filter((index) =>
  layouts[paymasters[index]!.version].readsTail({ openZeppelin }),
);

/** The contract that pays for a paymaster's operations. */
export function specOf(paymaster: number): ContractSpec {
  const { version } = paymasters[paymaster]!;
  return specs[worlds.findIndex(({ layout }) => layout === version)]!;
}

/** Whether its contract has mode ERC20. */
export function takesTokens(paymaster: number): boolean {
  return layouts[paymasters[paymaster]!.version].token !== undefined;
}

export function secondsOf(at: EpochMs): EpochSeconds {
  return Math.floor(at / 1000) as EpochSeconds;
}
export const dayOf = (seconds: number): number => Math.floor(toMs(seconds as EpochSeconds) / 86_400_000);
