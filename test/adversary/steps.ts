import fc from 'fast-check';
import { wallets } from './wallets.js';
import type { Hex } from '../../core/units/hex.js';
import type { Delivery } from './chain/operations.js';
import { isMade, type Move } from './moves.js';
import { limitKinds, prices } from './limit-kinds.js';
import { ownWalletPaymasters, paymasters, specs } from './world.js';

/** Actions of the adversary, the platform and the environment. Numbers pick among what exists at that moment. */
export type Step =
  | { readonly do: 'ask'; readonly asks: readonly AskStep[] }
  /** Commits, `waitMs` later finalizes, whose simulations take `simulationMs`. In `between` a process may end. */
  | {
      readonly do: 'two-phases';
      readonly commits: readonly AskStep[];
      readonly between: 'nothing' | 'kill' | 'failover';
      readonly waitMs: number;
      readonly finals: readonly FinalizeStep[];
      readonly simulationMs: number;
    }
  | { readonly do: 'mine'; readonly picks: readonly MineStep[]; readonly delivery: Delivery }
  | { readonly do: 'spend-nonce'; readonly sender: number; readonly key: number; readonly contract: number }
  | {
      readonly do: 'tokens';
      readonly sender: number;
      readonly contract: number;
      readonly how: 'mint' | 'approve' | 'revoke' | 'send';
    }
  | { readonly do: 'pass'; readonly seconds: number; readonly blocks: number }
  | { readonly do: 'reorganise'; readonly depth: number; readonly isDeep: boolean }
  /** An attacker signs with the key of a contract, without the service. `resume`: a person has checked and resumes the contract. */
  | { readonly do: 'forge'; readonly ask: AskStep; readonly used: number; readonly delivery: Delivery }
  | { readonly do: 'resume' }
  | { readonly do: 'round' }
  | {
      readonly do: 'fault';
      readonly fault: 'lag' | 'empty-logs' | 'no-transactions' | 'down';
      readonly amount: number;
    }
  | { readonly do: 'heal' }
  | { readonly do: 'deposit' | 'withdraw'; readonly account: number; readonly amount: number }
  | { readonly do: 'new-follower' | 'kill' | 'backup' | 'restore' | 'detach' | 'failover' }
  | { readonly do: 'crash'; readonly asks: readonly AskStep[]; readonly finals: readonly FinalizeStep[] }
  | {
      readonly do: 'limit';
      readonly paymaster: number;
      readonly limit: number;
      readonly threshold: number;
      readonly isNew: boolean;
      readonly isActive: boolean;
    }
  | { readonly do: 'profile'; readonly profile: number }
  /** The platform lowers the loss budget of a contract, or raises it again; in thousandths of the first one. */
  | { readonly do: 'budget'; readonly profile: number; readonly part: number }
  /** The owner lets a contract accept one of the service's keys, or refuse it; `look`: the operator asks the contracts. */
  | { readonly do: 'signer'; readonly contract: number; readonly key: number; readonly isAccepted: boolean }
  | { readonly do: 'look' }
  /** The owner rotates the key, or deletes the object and recreates it as it was written first. */
  | { readonly do: 'rotate-key' | 'make-again'; readonly paymaster: number }
  /** An organisation proves another wallet for one of its paymasters, and pays into it. */
  /** A number behind the last price: no price may be used. */
  | { readonly do: 'price'; readonly price: number }
  | { readonly do: 'wallet'; readonly paymaster: number; readonly wallet: Hex; readonly amount: number };

export type AskStep = {
  readonly paymaster: number;
  readonly isToken: boolean;
  readonly inAdvance: boolean;
  readonly sender: number;
  readonly key: number;
  /** Sequences ahead of the next one. */
  readonly ahead: number;
  readonly gas: number;
  readonly feeGwei: number;
  /** The price that is paid, where it is lower than `feeGwei`. */
  readonly tipGwei: number;
  readonly expirySeconds: number;
  readonly replica: number;
  /** Asks a replica that does not know the last change of the paymaster, or of the chain. */
  readonly isBehind: boolean;
  readonly isChainBehind: boolean;
  /** Uses the key before the current one. */
  readonly hasFormerKey: boolean;
  readonly call: CallKind;
  /** Whether the signer fails for this request. */
  readonly isUnsigned: boolean;
  /** Whether it signs, and its answer is lost on the way to the service. */
  readonly isLost: boolean;
};
export type CallKind = 'nothing' | 'fail' | 'send' | 'approve' | 'revoke';
export type FinalizeStep = {
  /** Among the newest commits. */
  readonly pick: number;
  /** What the caller has changed since the commit; `window`: the answer to another commit of the paymaster. */
  readonly change: 'nothing' | 'gas' | 'fee' | 'nonce' | 'window';
  /** Whether the account has signed the operation. */
  readonly isByAccount: boolean;
  readonly replica: number;
  readonly isBehind: boolean;
  readonly isChainBehind: boolean;
  /** Whether the signer fails for this request. */
  readonly isUnsigned: boolean;
};
export type MineStep = {
  readonly pick: number;
  /** Thousandths of the requested gas. */
  readonly used: number;
  /** What the account does instead of the requested call: an account's code is up to its owner. Possible on the model only. */
  readonly call: CallKind;
};

const paymaster = fc.nat(paymasters.length - 1);
const contract = fc.nat(specs.length - 1);
const call: fc.Arbitrary<CallKind> = fc.constantFrom('nothing', 'fail', 'send', 'approve', 'revoke');
const often = <T>(usual: T, other: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });

/** What happens only where the move is made. */
const where = <T>(move: Move, usual: T, other: fc.Arbitrary<T>, weight: number): fc.Arbitrary<T> =>
  isMade(move) ? often(usual, other, weight) : fc.constant(usual);
const isUnsigned = where('failing-signer', false, fc.constant(true), 7);
const ways = [
  ...(isMade('relay') ? ['relay' as const] : []),
  ...(isMade('wrapped') ? ['wrapped' as const] : []),
];
const fats = [
  ...(isMade('fat') ? ['receipt' as const] : []),
  ...(isMade('fat-input') ? ['input' as const] : []),
];
const delivery: fc.Arbitrary<Delivery> = fc.record({
  way:
    ways.length === 0
      ? fc.constant('direct' as const)
      : often<Delivery['way']>('direct', fc.constantFrom(...ways), 2),
  fat:
    fats.length === 0
      ? fc.constant('nothing' as const)
      : often<Delivery['fat']>('nothing', fc.constantFrom(...fats), 12),
});
/** First bytes that are also modes of token data, and others. */
const wallet: fc.Arbitrary<Hex> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom('00', '01', '02', '03', '07', 'ff'),
      fc.nat(255).map((n) => n.toString(16).padStart(2, '0')),
    ),
    fc.uint8Array({ minLength: 19, maxLength: 19 }),
  )
  .map(([first, rest]): Hex => `0x${first}${Buffer.from(rest).toString('hex')}`);

const ask: fc.Arbitrary<AskStep> = fc.record({
  paymaster,
  isToken: fc.boolean(),
  inAdvance: fc.boolean(),
  sender: fc.nat(3),
  key: fc.nat(1),
  ahead: often(0, fc.constant(1), 5),
  gas: fc.constantFrom(100_000, 300_000, 900_000),
  feeGwei: fc.integer({ min: 1, max: 12 }),
  tipGwei: where('withdraw', 12, fc.constantFrom(0.001, 1, 3), 1),
  expirySeconds: often(300, fc.constantFrom(10, 60, 6_000), 2),
  replica: fc.nat(2),
  isBehind: often(false, fc.constant(true), 20),
  isChainBehind: often(false, fc.constant(true), 20),
  hasFormerKey: often(false, fc.constant(true), 20),
  call,
  isUnsigned,
  isLost: where('lost-answer', false, fc.constant(true), 7),
});
/** Several requests at the same moment, or both modes for one nonce. */
const asks: fc.Arbitrary<AskStep[]> = fc.oneof(
  { weight: 4, arbitrary: fc.array(ask, { minLength: 1, maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(ask, ask)
      .map(([one, { gas, feeGwei }]) => [one, { ...one, isToken: !one.isToken, gas, feeGwei }]),
  },
);
/** Strangers may commit for any account and nonce key. */
const committed: fc.Arbitrary<AskStep> = fc
  .tuple(ask, fc.nat(5))
  .map(([one, key]) => ({ ...one, key, ahead: 0 }));
const final: fc.Arbitrary<FinalizeStep> = fc.record({
  pick: fc.nat(1_000),
  change: often('nothing', fc.constantFrom('gas', 'fee', 'nonce', 'window'), 4),
  isByAccount: often(true, fc.constant(false), 5),
  replica: fc.nat(2),
  isBehind: often(false, fc.constant(true), 20),
  isChainBehind: often(false, fc.constant(true), 20),
  isUnsigned,
});
const mine: fc.Arbitrary<MineStep> = fc.record({
  pick: fc.nat(1_000),
  used: fc.oneof(fc.constant(1_000), fc.nat(1_000)),
  call,
});
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });

const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(14, fc.record({ do: fc.constant('ask'), asks })),
  weighted(
    8,
    fc.record({
      do: fc.constant('two-phases'),
      commits: fc.array(committed, { maxLength: 4 }),
      between: often('nothing', fc.constantFrom('kill', 'kill', 'kill', 'failover'), 8),
      // A commit can be finalized for 60 seconds, or until its window ends.
      waitMs: often(0, fc.constantFrom(1_000, 9_999, 10_000, 30_000, 59_999, 60_000, 60_001), 2),
      finals: fc.array(final, { maxLength: 4 }),
      simulationMs: often(0, fc.constantFrom(1, 1_000, 10_000, 59_999, 60_000), 4),
    }),
  ),
  weighted(
    10,
    fc.record({ do: fc.constant('mine'), picks: fc.array(mine, { minLength: 1, maxLength: 3 }), delivery }),
  ),
  weighted(10, fc.record({ do: fc.constant('round') })),
  weighted(
    5,
    fc.record({
      do: fc.constant('pass'),
      seconds: fc.integer({ min: 1, max: 240 }),
      blocks: fc.integer({ min: 1, max: 4 }),
    }),
  ),
  weighted(
    3,
    fc.record({
      do: fc.constant('tokens'),
      sender: fc.nat(3),
      contract,
      how: fc.constantFrom('mint', 'approve', 'revoke', 'send'),
    }),
  ),
  weighted(1, fc.record({ do: fc.constant('spend-nonce'), sender: fc.nat(3), key: fc.nat(1), contract })),
  weighted(
    2,
    fc.record({
      do: fc.constant('reorganise'),
      depth: fc.integer({ min: 1, max: 2 }),
      isDeep: fc.constant(false),
    }),
  ),
  weighted(
    2,
    fc.record({
      do: fc.constant('reorganise'),
      depth: fc.integer({ min: 3, max: 12 }),
      isDeep: fc.constant(true),
    }),
  ),
  weighted(1, fc.record({ do: fc.constant('forge'), ask, used: fc.nat(1_000), delivery })),
  weighted(2, fc.record({ do: fc.constant('resume') })),
  weighted(
    2,
    fc.record({
      do: fc.constant('fault'),
      fault: fc.constantFrom('lag', 'empty-logs', 'no-transactions', 'down'),
      amount: fc.integer({ min: 1, max: 3 }),
    }),
  ),
  weighted(2, fc.record({ do: fc.constant('heal') })),
  weighted(
    2,
    fc.record({
      do: fc.constantFrom('deposit', 'withdraw'),
      account: fc.nat(wallets.length - 1),
      amount: fc.integer({ min: 1, max: 60 }),
    }),
  ),
  weighted(2, fc.record({ do: fc.constantFrom('new-follower', 'kill', 'backup', 'restore') })),
  weighted(1, fc.record({ do: fc.constantFrom('detach', 'failover') })),
  weighted(
    1,
    fc.record({
      do: fc.constant('crash'),
      asks,
      finals: fc.array(final, { maxLength: 2 }),
    }),
  ),
  weighted(
    1,
    fc.record({
      do: fc.constant('limit'),
      paymaster,
      limit: fc.nat(limitKinds.length - 1),
      threshold: fc.nat(40),
      isNew: fc.boolean(),
      isActive: often(true, fc.constant(false), 4),
    }),
  ),
  weighted(1, fc.record({ do: fc.constant('price'), price: often(0, fc.nat(prices.length), 2) })),
  weighted(1, fc.record({ do: fc.constant('profile'), profile: contract })),
  weighted(
    1,
    fc.record({
      do: fc.constant('budget'),
      profile: contract,
      part: often(1_000, fc.constantFrom(0, 1, 50), 1),
    }),
  ),
  weighted(
    1,
    fc.record({
      do: fc.constant('signer'),
      contract,
      key: fc.nat(1),
      isAccepted: often(true, fc.constant(false), 2),
    }),
  ),
  weighted(4, fc.record({ do: fc.constant('look') })),
  weighted(1, fc.record({ do: fc.constantFrom('rotate-key', 'make-again'), paymaster })),
  ...(isMade('wallets')
    ? [
        weighted(
          2,
          fc.record({
            do: fc.constant('wallet'),
            paymaster: fc.constantFrom(...ownWalletPaymasters),
            wallet,
            amount: fc.integer({ min: 1, max: 60 }),
          }),
        ),
      ]
    : []),
);

export const manySteps: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 60, maxLength: 140, size: 'max' });
