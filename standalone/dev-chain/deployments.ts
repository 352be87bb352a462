import { Interface } from 'ethers/abi';
import { createChains } from '../../adapters/chain/chains.js';
import type { Chain } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { parseEther } from '../../core/units/wei.js';
import type { Address } from '../../core/units/address.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import { readOwnArtifact } from './artifacts.js';
import {
  accountFactories,
  deployCanonical,
  simple7702Account,
  simple7702Account09,
  viemDelegate09,
} from './canonical.js';
import { devAccounts } from './dev-accounts.js';
import { devFeeds } from './price-feeds.js';
import { paymasterContracts, type DevProfile, type PaymasterContract } from './paymaster-contracts.js';
import { create2Address, createTransactor, deployOnce, type Transactor } from './transactor.js';

export type DevDeployments = Readonly<ReturnType<typeof describeDevChain>>;

type DeployOptions = {
  readonly rpcUrl: string;
  /** Signs sponsorships; every contract trusts this key. */
  readonly signerAddress: Address;
  /** Pays for everything. Default: the first public dev account of anvil. */
  readonly funderKey?: string;
  readonly log: Logger;
  /** Called with each step that changed the chain; not called on a complete chain. */
  readonly progress?: (step: string) => void;
};

const feeTokenSymbol = 'DUSD';

/**
 * Deploys everything that a dev chain needs: canonical contracts, one paymaster contract per layout with deposit and stake,
 * a contract to sponsor, a fee token and its price feeds. All addresses depend only on the signer and the funder, so every
 * fresh chain gets the same ones. Existing contracts are not changed. If the public dev account has too little ether, the
 * dev node gives it more; a funder chosen by the caller must own enough: 40,000 ether for everything.
 */
export async function deployDevChain(options: DeployOptions): Promise<DevDeployments> {
  const { rpcUrl, log, progress = () => {} } = options;
  const chains = createChains({ log, clock: systemClock, metrics: noMetrics, timeoutMs: 30_000 });
  try {
    const chain = chains.get({ chainId: 0, rpc: { urls: [rpcUrl] } });
    const transactor = createTransactor(chain, options.funderKey ?? devAccounts.deployer.privateKey);
    if (options.funderKey === undefined) await ensureEther(chain, transactor.address);
    await deployCanonical(chain, transactor, progress);
    return await deployPaymasters(chain, transactor, options.signerAddress, progress);
  } finally {
    await chains.stop();
  }
}

/** All deposits and stakes together are less than 40,000 ether; an account of an anvil with default settings has 10,000. */
const neededEther = parseEther('40000');
const givenEther = parseEther('1000000');

/** If the node lacks the method, the first step that cannot be paid for fails with the reason. */
async function ensureEther(chain: Chain, account: Address): Promise<void> {
  for (const method of ['anvil_setBalance', 'hardhat_setBalance']) {
    if ((await chain.balance(account)) >= neededEther) return;
    await chain.request(method, [account, hexQuantity(givenEther)]).catch(() => undefined);
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
  const feeds = devFeeds(feeTokenSymbol);
  for (const contract of [counter, token, feeds.native, feeds.token])
    if (await deployOnce(chain, transactor, contract)) progress(`${contract.name} at ${contract.address}`);

  const paymasters = paymasterContracts(signer, transactor.address);
  for (const paymaster of paymasters) {
    const contract = { name: paymaster.name, address: paymaster.sponsorship, initCode: paymaster.initCode };
    if (await deployOnce(chain, transactor, contract)) progress(`${contract.name} at ${contract.address}`);
    await fundPaymaster(chain, transactor, paymaster);
  }
  return describeDevChain(await chain.chainId(), signer, transactor.address);
}

/** Contracts of a complete dev chain and their addresses, which are known beforehand, because they are CREATE2 addresses. */
export function describeDevChain(chainId: number, signer: Address, owner: Address) {
  const feeds = devFeeds(feeTokenSymbol);
  const profiles = paymasterContracts(signer, owner).map(
    ({ name: _name, initCode: _initCode, ...profile }): DevProfile => profile,
  );
  const [first] = profiles;
  return {
    chainId,
    // Another name for the default version, which clients of the vendor's first release send.
    profiles: first === undefined ? [] : [...profiles, { ...first, version: '1.0.0' }],
    entryPoints,
    /** SimpleAccount factories by EntryPoint version. */
    factories: accountFactories,
    /** EIP-7702 delegates that operations may name: one for EntryPoint 0.8, and two for 0.9, of which viem names the last. */
    delegates: [simple7702Account, simple7702Account09, viemDelegate09],
    sponsoredContract: {
      address: simpleContract('Counter').address,
      method: 'increment()',
      abi: readOwnArtifact('Counter').abi.formatJson(),
    },
    feeToken: { address: simpleContract('DevToken').address, symbol: feeTokenSymbol, decimals: 6 },
    /** Price feeds in dollars, for ether and for the fee token. Anybody may set them. */
    feeds: { native: feeds.native.address, token: feeds.token.address },
    /** Public dev account whose deposit in our hybrid contracts serves paymasters without a funding wallet. */
    defaultFunding: devAccounts.funding.address,
    /** Public dev account that receives fee tokens. */
    treasury: devAccounts.treasury.address,
  };
}

function simpleContract(name: string): { name: string; address: Address; initCode: Hex } {
  const initCode = readOwnArtifact(name).bytecode;
  return { name, initCode, address: create2Address(initCode) };
}

const fundingEther = parseEther('10000');
/** Deposit of contracts that keep no balance per sponsor, and of the account that pays in token mode. */
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

/** Makes each deposit and stake only if it does not exist: a deposit that a user of the dev chain has spent is not refilled. */
export async function fundPaymaster(
  chain: Chain,
  transactor: Transactor,
  paymaster: PaymasterContract,
): Promise<void> {
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
