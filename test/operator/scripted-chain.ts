import { AbiCoder } from 'ethers';
import type { Chain, Chains } from '../../core/chain/chain.js';
import { arbitrumFormula } from '../../core/chain/data-fee/arbitrum/arbitrum.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { DomainError } from '../../core/errors.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import type { Address } from '../../core/units/address.js';
import { bytesToHex, isHexBytes } from '../../core/units/hex.js';
import type { Hex } from '../../core/units/hex.js';
import { probeOperation, probeTerms, probeTokenTerms } from '../../operator/facts/probe-operation.js';

/** State of a chain that a test sets; everything is right until the test breaks it. */
export type ChainState = {
  isReachable: boolean;
  chainId: number;
  /** Unix seconds of the newest block. */
  timestamp: number;
  /** Its node answers something that is not a block. */
  hasBrokenBlocks: boolean;
  /** Wei per gas; its node suggests no priority fee. */
  baseFee: bigint;
  /** Lowercase addresses without code. */
  readonly withoutCode: Set<string>;
  entryPoint: Address;
  signer: Address;
  hashesLikeUs: boolean;
  /** Wei of each funding wallet, by lowercase address; others have 1 ether. */
  readonly deposits: Map<string, bigint>;
  /** Funding wallets, lowercase, whose deposit the node does not answer. */
  readonly silentDeposits: Set<string>;
  /** Number of requests to the node, answered or not. */
  requests: number;
  /** Number of reads of deposits. */
  depositsAsked: number;
  /** Symbol and decimals that the fee token of `aFeeToken` reports. */
  token: { decimals: number; symbol: string };
  /** Of every contract. */
  contractCode: Hex;
  stake: 'Staked' | 'Unstaked' | 'Unlocked';
  /** What Arbitrum's precompile NodeInterface answers as the price of layer 1, in wei; undefined: the chain has none. */
  l1BaseFee: bigint | undefined;
  /** Answers of price feeds with 8 decimals, by lowercase address. */
  readonly feeds: Map<
    string,
    { readonly answer: bigint; readonly updatedAt: number; readonly description?: string }
  >;
};

const nodeInterface = '0x00000000000000000000000000000000000000C8';

const profile: ProfileConfig = {
  version: '1.1.0',
  layout: 'vendor-1.1.0',
  entryPoint: parseAddress('0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789'),
  sponsorship: parseAddress('0x00000f79B7FaF42EEBAdbA19aCc07cD08Af44789'),
  signerFile: 'dev',
  options: { priceMarkup: 1_000_000, unaccountedGas: 50_000 },
};

/** The contract of a token mode of `aProfile`, where a test gives it one. */
export const tokenContract = parseAddress('0x00000000000000000000000000000000000000a7');

export const signerAddress = parseAddress('0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc');

/** A chain that holds the contract of `aProfile` and answers the operator's calls. */
export function createScriptedChain(): { readonly state: ChainState; readonly chains: Pick<Chains, 'get'> } {
  const state: ChainState = {
    isReachable: true,
    chainId: 31337,
    timestamp: 0,
    hasBrokenBlocks: false,
    baseFee: 1n,
    withoutCode: new Set(),
    entryPoint: profile.entryPoint,
    signer: signerAddress,
    hashesLikeUs: true,
    deposits: new Map(),
    silentDeposits: new Set(),
    requests: 0,
    depositsAsked: 0,
    token: { decimals: 6, symbol: 'USD' },
    contractCode: '0xfe',
    stake: 'Staked',
    l1BaseFee: undefined,
    feeds: new Map(),
  };
  const { sponsorship, token } = layouts['vendor-1.1.0'];
  // Encoded once: that takes milliseconds, and every call is compared with it.
  const terms = probeTerms(31337, profile);
  const hashCall = sponsorship.getHashCall?.(probeOperation, terms);
  const hash = sponsorship.hash(probeOperation, terms);
  const tokenTerms = probeTokenTerms(31337, profile, tokenContract);
  const tokenHashCall = token?.getHashCall(probeOperation, tokenTerms);
  const tokenHash = token?.hash(probeOperation, tokenTerms);

  function reached(): void {
    state.requests += 1;
    if (!state.isReachable) throw new DomainError('UNAVAILABLE', 'the node does not answer');
  }

  /** `decimals()`, `symbol()`, `description()` and `latestRoundData()`. */
  function answerPricing(to: string, data: Hex): Hex | undefined {
    const feed = state.feeds.get(to.toLowerCase());
    if (data === '0x313ce567') return abi('uint8', feed === undefined ? state.token.decimals : 8);
    if (data === '0x95d89b41') return abi('string', state.token.symbol);
    if (data === '0x7284e416')
      return feed?.description === undefined ? '0x' : abi('string', feed.description);
    if (data !== '0xfeaf968c' || feed === undefined) return undefined;
    const words = [1n, feed.answer, 0n, BigInt(feed.updatedAt), 1n];
    return `0x${words.map((value) => word(`0x${value.toString(16)}`).slice(2)).join('')}`;
  }

  /** In place of the precompile, which has no bytecode: gas at 0.1 gwei, base fee, price of layer 1. */
  function answerDataFee(): Hex {
    const { l1BaseFee } = state;
    if (l1BaseFee === undefined) return '0x';
    const baseFee = 100_000_000n;
    const words = [arbitrumFormula.fee(600, l1BaseFee) / baseFee, baseFee, l1BaseFee];
    return `0x${words.map((value) => word(`0x${value.toString(16)}`).slice(2)).join('')}`;
  }

  function answer(data: Hex): Hex {
    if (data === '0xb0d691fe') return word(toAddressKey(state.entryPoint));
    const signer = sponsorship.signerCall(signerAddress);
    if (data === signer.data) return word(toAddressKey(state.signer));
    if (data === hashCall) return state.hashesLikeUs ? bytesToHex(hash) : word('0x99');
    if (data === tokenHashCall && tokenHash !== undefined) return bytesToHex(tokenHash);
    const wallet = `0x${data.slice(-40)}`;
    // getDepositInfo(address): deposit, staked, stake, delay, time of withdrawal
    if (data.startsWith('0x5287ce12')) {
      const held = state.stake === 'Unstaked' ? 0n : 1n;
      const values = [
        state.deposits.get(wallet) ?? 10n ** 18n,
        state.stake === 'Staked' ? 1n : 0n,
        held,
        1n,
        0n,
      ];
      return `0x${values.map((value) => word(`0x${value.toString(16)}`).slice(2)).join('')}`;
    }
    // getBalance(address)
    state.depositsAsked += 1;
    if (state.silentDeposits.has(wallet)) throw new DomainError('UNAVAILABLE', 'too many requests');
    return word(`0x${(state.deposits.get(wallet) ?? 10n ** 18n).toString(16)}`);
  }

  const unasked = (): Promise<never> =>
    Promise.reject(new DomainError('UNAVAILABLE', 'not part of this chain'));
  const chain: Chain = {
    chainId: async () => {
      reached();
      return state.chainId;
    },
    code: async (address) => {
      reached();
      return state.withoutCode.has(address.toLowerCase()) ? '0x' : state.contractCode;
    },
    call: async ({ to, data }) => {
      reached();
      if (to === nodeInterface) return answerDataFee();
      return answerPricing(to, data) ?? answer(data);
    },
    block: async () => {
      reached();
      if (state.hasBrokenBlocks) throw new TypeError('a block without a timestamp');
      return {
        number: 1,
        hash: '0x01',
        parentHash: '0x00',
        timestamp: state.timestamp,
        baseFeePerGas: state.baseFee,
      };
    },
    balance: unasked,
    logs: unasked,
    priorityFee: unasked,
    transaction: unasked,
    words: async (calls) => {
      reached();
      return calls.map(({ to, data }) => {
        if (state.withoutCode.has(to.toLowerCase())) return undefined;
        // Of an EntryPoint.
        if (data.startsWith('0x70a08231')) return state.deposits.get(`0x${data.slice(-40)}`) ?? 10n ** 18n;
        if (!state.silentDeposits.has(`0x${data.slice(-40)}`)) return BigInt(answer(data));
        state.depositsAsked += 1;
        return undefined;
      });
    },
    request: unasked,
    stop: () => Promise.resolve(),
  };
  return { state, chains: { get: () => chain } };
}

function abi(type: string, value: unknown): Hex {
  const encoded = AbiCoder.defaultAbiCoder().encode([type], [value]);
  if (!isHexBytes(encoded)) throw new Error('not hex');
  return encoded;
}

function word(value: string): Hex {
  return `0x${value.slice(2).padStart(64, '0')}`;
}
