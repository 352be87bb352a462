import type { Decision } from '../../../core/ledger/record.js';
import type { AccountId, CounterId, ReservationKey } from '../../../core/usage/reservation.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { Unit } from '../../../core/usage/units.js';
import { always } from '../../../core/usage/window.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { address, aDecision } from '../../conformance/ledger-records.js';
import {
  aHash,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  aSpend,
  chainId,
} from '../../conformance/usage-requests.js';

/** What processes ask of one store at the same time, so that all of them touch the same rows in every order. */
export type Turmoil = {
  readonly url: string;
  /** Of the copies of the epochs, which all processes share. */
  readonly mirror: string;
  readonly seed: number;
};

const countThreshold = 20;
const spendThreshold = 900;
/** In micro-dollars, of the paymasters of an organisation together: less than what their own limits let two of them spend. */
const budgetThreshold = 1_500;
/** What the live promises of one of them may hold of it. */
const quarterThreshold = 800;
/** At which a gwei counts 1.01 micro-dollars. */
const usdPerNative = 10n ** 21n;
export const walletBalance = 12_000;
const perProcess = 2 ** 24;
const paymasters = 3;
const sendersEach = 2;
/** Limits of another name after so many asks of each process: some are always new, some full. */
const asksPerBucket = 40;
/** Processes that share buckets: later ones have buckets of their own, which are not full. */
const bucketShared = 3;

/** Of a contract each: a lock covers all accounts of a contract, and no lock is in all turns, which would form one line. */
export const wallets: readonly Required<AccountId>[] = [1, 2, 3].map((n) => ({
  contract: anAddress(0xc00 + n),
  fundingAddress: anAddress(0xf00 + n),
}));

/** `isOften`: its nonce is asked for again, also after its reservation has ended; no step that ends it is taken back. */
export type Ask = {
  readonly id: string;
  readonly paymaster: number;
  readonly sender: number;
  readonly nonce: bigint;
  readonly cost: number;
  readonly bucket: number;
};

/** Uniform in 0…n-1, the same for the same seed. */
export function dice(seed: number): (n: number) => number {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
}

/** The ask with this number of this process. */
export function anAsk(roll: (n: number) => number, id: string, process: number, number: number): Ask {
  const isOften = roll(3) === 0;
  return {
    id,
    paymaster: roll(paymasters),
    sender: roll(sendersEach),
    nonce: isOften ? BigInt(roll(2)) << 1n : (BigInt(process * perProcess + number) << 1n) + 1n,
    cost: 1 + roll(97),
    bucket: Math.floor(process / bucketShared) * perProcess + Math.floor(number / asksPerBucket) + roll(2),
  };
}

export function isOften({ nonce }: Pick<ReservationKey, 'nonce'>): boolean {
  return nonce % 2n === 0n;
}

export function paymasterIdOf(paymaster: number): string {
  return `pm-${paymaster}`;
}

/** What an ask takes of limits, by the names of their counters. */
export function sharesOf(ask: Pick<Ask, 'paymaster' | 'sender' | 'cost' | 'bucket'>) {
  const name = (limit: string): string => `${paymasterIdOf(ask.paymaster)}/${limit}/${ask.bucket}`;
  return [
    aLimit({ counter: name('count'), window: always, threshold: countThreshold }),
    aSpend(ask.cost, { counter: name('spend'), window: always, threshold: spendThreshold }),
    aSpend(ask.cost, { counter: `${name('own')}/${ask.sender}`, window: always, threshold: spendThreshold }),
    aLimit({
      ...aDollarLimit(`${budgetOf(ask.paymaster)}/${ask.bucket}`, ask.cost),
      window: always,
      threshold: budgetThreshold,
      rate: usdPerNative,
    }),
  ];
}

/** Of two of the three paymasters, and of the third. */
function budgetOf(paymaster: number): string {
  return `budget-${paymaster % 2}`;
}

function aDollarLimit(counter: string, gwei: number) {
  return { counter, unit: 'USD', cost: microDollarsOf(gwei) } as const;
}

export function microDollarsOf(gwei: number): number {
  return Math.ceil((gwei * 101) / 100);
}

/** The unit and the threshold of a counter of {@link sharesOf}. */
export function kindOf(counter: string): { readonly unit: Unit; readonly threshold: number } {
  if (counter.startsWith('budget')) return { unit: 'USD', threshold: budgetThreshold };
  if (counter.includes('/count/')) return { unit: 'COUNT', threshold: countThreshold };
  return { unit: 'NATIVE_ASSET', threshold: spendThreshold };
}

/** Shared by paymasters. */
const sharedHolds: readonly CounterId[] = [0, 1, 2].map((n) => ({ counter: `live-${n}`, unit: 'COUNT' }));

function quarterOf(paymaster: number): string {
  return `${budgetOf(paymaster)}/live/${paymasterIdOf(paymaster)}`;
}

export const holds: readonly CounterId[] = [
  ...sharedHolds,
  ...[0, 1, 2].map((n) => ({ counter: quarterOf(n), unit: 'USD' as const })),
];

export function requestOf(ask: Ask, change: Pick<ReserveRequest, 'phase'> = {}): ReserveRequest {
  const isCommit = change.phase !== undefined;
  const now = Date.now();
  // Asked again, it often is of another wallet, which the follower learns only when it has read the reservation.
  const wallet = wallets[ask.cost % wallets.length]!;
  const paymasterId = paymasterIdOf(ask.paymaster);
  return aRequest({
    key: { paymasterId, sender: anAddress(0xa00 + ask.sender), nonce: ask.nonce },
    // Goes on for all processes, some of which are late.
    generation: Math.floor(now / 5_000),
    limits: sharesOf(ask),
    holds: [
      { ...sharedHolds[(ask.cost + ask.sender) % sharedHolds.length]!, cost: 1, threshold: 150 },
      { ...aDollarLimit(quarterOf(ask.paymaster), ask.cost), threshold: quarterThreshold },
    ],
    accounts: [aNeed(ask.cost, wallet), aNeed(ask.cost, { contract: wallet.contract })],
    depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
    promise: {
      digest: `0x${ask.id.replaceAll('-', '')}`,
      validUntil: Math.floor(now / 1000 + (isCommit ? 2 : 3_600)) as EpochSeconds,
    },
    ...change,
    ...(isCommit ? {} : { record: decisionOf(ask) }),
  });
}

/** Only another commit nonce: nothing is signed, so nothing stays. */
export function commitOf(ask: Ask): ReserveRequest {
  const phase = { kind: 'commit', commitment: aHash(ask.cost) } as const;
  return requestOf({ ...ask, nonce: (ask.nonce << 40n) + 1n }, { phase });
}

/** By which a reader of the ledger knows the request. */
function decisionOf(ask: Ask): Decision {
  return aDecision('acme', Date.now() as EpochMs, {
    id: ask.id,
    chainId,
    paymasterId: paymasterIdOf(ask.paymaster),
    sender: address(0xa00 + ask.sender),
    nonce: ask.nonce,
    maxCostWei: BigInt(ask.cost),
    requestId: JSON.stringify([ask.paymaster, ask.sender, ask.bucket]),
  });
}

export function askOfRow(row: Readonly<Record<string, unknown>>): Ask {
  const [paymaster = 0, sender = 0, bucket = 0] = JSON.parse(String(row['request_id'])) as number[];
  const { id, nonce, max_cost_wei: cost } = row;
  return { id: String(id), paymaster, sender, bucket, nonce: BigInt(String(nonce)), cost: Number(cost) };
}
