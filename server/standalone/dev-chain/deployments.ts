import { Interface } from 'ethers';
import { createChains } from '../../../core/adapters/chain/chains.js';
import type { Chain } from '../../../core/chain/chain.js';
import type { Logger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { entryPoints } from '../../../core/paymaster/entry-point.js';
import type { LayoutId } from '../../../core/paymaster/layout.js';
import type { Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { systemClock } from '../../../core/units/time.js';
import { parseEther } from '../../../core/units/wei.js';
import type { EntryPointVersion } from '../../../core/userop/user-operation.js';
import { readNpmArtifact, readOwnArtifact, readSingletonInitCode } from './artifacts.js';
import { accountFactories, deployCanonical, simple7702Account, withArguments } from './canonical.js';
import { devAccounts } from './dev-accounts.js';
import { create2Address, createTransactor, deployOnce, type Transactor } from './transactor.js';

export type DevDeployments = {
  readonly chainId: number;
  readonly profiles: readonly DevProfile[];
  readonly entryPoints: Readonly<Record<EntryPointVersion, Address>>;
  /** SimpleAccount factories by EntryPoint version. */
  readonly factories: Readonly<Record<EntryPointVersion, Address>>;
  /** EIP-7702 delegates that operations on EntryPoint 0.8 may name. */
  readonly delegates: readonly Address[];
  readonly sponsoredContract: { readonly address: Address; readonly method: string; readonly abi: string };
  readonly feeToken: { readonly address: Address; readonly symbol: string; readonly decimals: number };
  /** Public dev account whose deposit in our hybrid contracts serves paymasters without a funding wallet. */
  readonly defaultFunding: Address;
  /** Public dev account that receives fee tokens. */
  readonly treasury: Address;
};

export type DevProfile = {
  readonly version: string;
  readonly layout: LayoutId;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
  readonly sponsorship: Address;
  /** Contract for mode ERC20; absent where the layout has no such mode. */
  readonly token?: Address;
  /** As in a Chain resource's profile. */
  readonly options: { readonly unaccountedGas?: number; readonly treasury?: Address };
};

export type DeployOptions = {
  readonly rpcUrl: string;
  /** Signs sponsorships; every contract trusts this key. */
  readonly signerAddress: Address;
  /** Pays for everything. Default: the first public dev account of anvil. */
  readonly funderKey?: string;
  readonly log: Logger;
  /** Told about each step that changed the chain; nothing on a chain that is complete. */
  readonly progress?: (step: string) => void;
};

type Deployed = DevProfile & { readonly name: string; readonly initCode: Hex };

const fundingEther = parseEther('10000');
/** Deposit of contracts that keep none per sponsor, and of the account that pays in token mode. */
const sharedEther = parseEther('1000');
const stakeEther = parseEther('1');
const unstakeDelaySeconds = 86_400;

const stakeManager = new Interface([
  'function balanceOf(address account) view returns (uint256)',
  'function depositTo(address account) payable',
  'function getDepositInfo(address account) view returns (tuple(uint256 deposit, bool staked, uint112 stake, uint32 unstakeDelaySec, uint48 withdrawTime))',
]);
const paymasterAbi = new Interface([
  'function getBalance(address paymasterId) view returns (uint256)',
  'function depositFor(address paymasterId) payable',
  'function addStake(uint32 unstakeDelaySec) payable',
]);

/**
 * Makes a dev chain complete: canonical contracts, one paymaster contract per layout with deposit and stake, a contract
 * to sponsor and a fee token. All addresses depend only on the signer and the funder, so that a fresh chain gets the same
 * ones; what is there already is left alone. The funder must own enough ether: 40,000 for everything.
 */
export async function deployDevChain(options: DeployOptions): Promise<DevDeployments> {
  const { rpcUrl, log, progress = () => {} } = options;
  const chains = createChains({ log, clock: systemClock, metrics: noMetrics, timeoutMs: 30_000 });
  try {
    const chain = chains.get({ chainId: 0, rpc: { urls: [rpcUrl] } });
    const transactor = createTransactor(chain, options.funderKey ?? devAccounts.deployer.privateKey);
    await deployCanonical(chain, transactor, progress);
    return await deployPaymasters(chain, transactor, options.signerAddress, progress);
  } finally {
    await chains.stop();
  }
}

async function deployPaymasters(
  chain: Chain,
  transactor: Transactor,
  signer: Address,
  progress: (step: string) => void,
): Promise<DevDeployments> {
  const counter = simpleContract('Counter');
  const token = simpleContract('DevToken');
  for (const contract of [counter, token])
    if (await deployOnce(chain, transactor, contract)) progress(`${contract.name} at ${contract.address}`);

  const paymasters = paymasterContracts(signer, transactor.address);
  for (const paymaster of paymasters) {
    const contract = { name: paymaster.name, address: paymaster.sponsorship, initCode: paymaster.initCode };
    if (await deployOnce(chain, transactor, contract)) progress(`${contract.name} at ${contract.address}`);
    await fund(chain, transactor, paymaster);
  }
  return describeDevChain(await chain.chainId(), signer, transactor.address);
}

/** What a complete dev chain has, and where: known beforehand, because every address is a CREATE2 address. */
export function describeDevChain(chainId: number, signer: Address, owner: Address): DevDeployments {
  const profiles = paymasterContracts(signer, owner).map(
    ({ name: _name, initCode: _initCode, ...profile }): DevProfile => profile,
  );
  const [first] = profiles;
  return {
    chainId,
    // Another name of the default, which clients of the vendor's first release send.
    profiles: first === undefined ? [] : [...profiles, { ...first, version: '1.0.0' }],
    entryPoints,
    factories: accountFactories,
    delegates: [simple7702Account],
    sponsoredContract: {
      address: simpleContract('Counter').address,
      method: 'increment()',
      abi: readOwnArtifact('Counter').abi.formatJson(),
    },
    feeToken: { address: simpleContract('DevToken').address, symbol: 'DUSD', decimals: 6 },
    defaultFunding: devAccounts.funding.address,
    treasury: devAccounts.treasury.address,
  };
}

/** One contract per layout. Constructor arguments end up in the address. */
function paymasterContracts(signer: Address, owner: Address): readonly Deployed[] {
  const treasury = devAccounts.treasury.address;
  const hybrid = (version: EntryPointVersion, contract: string) =>
    withArguments(
      readOwnArtifact(contract).bytecode,
      ['address', 'address', 'address', 'address'],
      [entryPoints[version], owner, signer, treasury],
    );
  const singleton = (version: EntryPointVersion, suffix: '06' | '07' | '08') =>
    withArguments(
      readSingletonInitCode(suffix),
      ['address', 'address', 'address', 'address[]'],
      [entryPoints[version], owner, owner, [signer]],
    );
  const verifying = withArguments(
    readNpmArtifact('aa07', 'VerifyingPaymaster').bytecode,
    ['address', 'address'],
    [entryPoints['0.7'], signer],
  );
  return [
    described('1.1.0', 'vendor-1.1.0', '0.6', 'HybridPaymaster06', hybrid('0.6', 'HybridPaymaster06'), {}),
    described('2.0.0', 'vendor-2.x', '0.7', 'HybridPaymaster07', hybrid('0.7', 'HybridPaymaster07'), {
      unaccountedGas: hybrid07UnaccountedGas,
    }),
    described('singleton-0.6', 'singleton-0.6', '0.6', 'SingletonPaymasterV6', singleton('0.6', '06'), {
      treasury,
    }),
    described('singleton-0.7', 'singleton-0.7', '0.7', 'SingletonPaymasterV7', singleton('0.7', '07'), {
      treasury,
    }),
    described('singleton-0.8', 'singleton-0.8', '0.8', 'SingletonPaymasterV8', singleton('0.8', '08'), {
      treasury,
    }),
    described('verifying-0.7', 'verifying-0.7', '0.7', 'VerifyingPaymaster', verifying, {}),
  ];
}

/** The constant of the same name in contracts/HybridPaymaster07.sol; the chain tests compare the two. */
const hybrid07UnaccountedGas = 10_000;

function described(
  version: string,
  layout: LayoutId,
  entryPointVersion: EntryPointVersion,
  name: string,
  initCode: Hex,
  options: DevProfile['options'],
): Deployed {
  const sponsorship = create2Address(initCode);
  return {
    version,
    layout,
    entryPoint: entryPoints[entryPointVersion],
    entryPointVersion,
    sponsorship,
    ...(layout === 'verifying-0.7' ? {} : { token: sponsorship }),
    options,
    name,
    initCode,
  };
}

/** Deposits and stake, each only where there is none: what a user of the dev chain spent stays spent. */
async function fund(chain: Chain, transactor: Transactor, paymaster: Deployed): Promise<void> {
  const { name, sponsorship, entryPoint } = paymaster;
  const isHybrid = name.startsWith('Hybrid');
  const deposits: readonly (readonly [Address, bigint])[] = isHybrid
    ? [
        [devAccounts.funding.address, fundingEther],
        [devAccounts.treasury.address, sharedEther],
      ]
    : [];
  for (const [account, value] of deposits)
    if ((await read(chain, sponsorship, paymasterAbi, 'getBalance', account)) === 0n)
      await transactor.send(`deposit in ${name}`, {
        to: sponsorship,
        data: encode(paymasterAbi, 'depositFor', [account]),
        value,
      });
  if ((await read(chain, entryPoint, stakeManager, 'balanceOf', sponsorship)) === 0n)
    await transactor.send(`EntryPoint deposit of ${name}`, {
      to: entryPoint,
      data: encode(stakeManager, 'depositTo', [sponsorship]),
      value: sharedEther,
    });
  // VerifyingPaymaster's owner is the deterministic deployer (its constructor's caller), so nobody can stake for it.
  if (name !== 'VerifyingPaymaster' && !(await isStaked(chain, entryPoint, sponsorship)))
    await transactor.send(`stake of ${name}`, {
      to: sponsorship,
      data: encode(paymasterAbi, 'addStake', [unstakeDelaySeconds]),
      value: stakeEther,
    });
}

async function isStaked(chain: Chain, entryPoint: Address, account: Address): Promise<boolean> {
  const data = encode(stakeManager, 'getDepositInfo', [account]);
  const [info] = stakeManager.decodeFunctionResult(
    'getDepositInfo',
    await chain.call({ to: entryPoint, data }),
  );
  return Boolean(info.staked);
}

async function read(
  chain: Chain,
  to: Address,
  abi: Interface,
  method: string,
  account: Address,
): Promise<bigint> {
  const [value] = abi.decodeFunctionResult(
    method,
    await chain.call({ to, data: encode(abi, method, [account]) }),
  );
  return BigInt(value);
}

function encode(abi: Interface, method: string, values: readonly unknown[]): Hex {
  return `0x${abi.encodeFunctionData(method, values).slice(2)}`;
}

function simpleContract(name: string): { name: string; address: Address; initCode: Hex } {
  const initCode = readOwnArtifact(name).bytecode;
  return { name, initCode, address: create2Address(initCode) };
}
