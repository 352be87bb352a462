import type { Movement, MovementKind } from '../../core/ledger/movement.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import { accountName } from '../../core/usage/accounts.js';
import type { AccountId, Reservation } from '../../core/usage/reservation.js';
import type { BalanceEvent } from './balance-events.js';
import { operationId, type MinedOperation } from './mined.js';
import type { Settled, Loss } from './settlement.js';

// What operations and events add to the movements of accounts. Nothing is read here.

/** A part of a movement, before the parts of a block are added up. */
export type Part = Pick<
  Movement,
  'kind' | 'blockNumber' | 'organisation' | 'paymasterId' | 'amountWei' | 'count' | 'transactionHash'
> & { readonly account: AccountId; readonly blockHash: Hex };

/** Whose promise an operation kept, and the balance inside the contract that paid, if it keeps balances. */
export type Keeper = {
  readonly organisation: string;
  readonly paymasterId: string;
  readonly wallet: AccountId | undefined;
};

/** By operation. An operation that settles several reservations counts for the first of them, as in the sums of usage. */
export function mapKeepers(
  settled: readonly Pick<Settled, 'reservation' | 'operation'>[],
  organisationOf: (paymasterId: string) => string,
): ReadonlyMap<string, Keeper> {
  const keepers = new Map<string, Keeper>();
  for (const { reservation, operation } of settled) {
    const name = operationId(operation);
    if (keepers.has(name)) continue;
    const { paymasterId } = reservation.key;
    const wallet = findWallet(reservation, operation);
    keepers.set(name, { organisation: organisationOf(paymasterId), paymasterId, wallet });
  }
  return keepers;
}

function findWallet({ accounts }: Reservation, { paymaster }: MinedOperation): AccountId | undefined {
  const paid = accounts.find(
    ({ contract, fundingAddress }) => contract === paymaster && fundingAddress !== undefined,
  );
  return (
    paid && { contract: paid.contract, ...(paid.fundingAddress && { fundingAddress: paid.fundingAddress }) }
  );
}

/** What each operation took, by how a step has settled it. */
export function operationParts(
  settled: Parameters<typeof mapKeepers>[0],
  losses: readonly Loss[],
  organisationOf: (paymasterId: string) => string,
): (operation: MinedOperation) => readonly Part[] {
  const keepers = mapKeepers(settled, organisationOf);
  const lost = lossesByOperation(losses);
  return (operation) => {
    const name = operationId(operation);
    return partsOfOperation(operation, keepers.get(name), lost.get(name));
  };
}

/** Wei that were lost of each operation, by its name; never more than it cost. */
function lossesByOperation(losses: readonly Loss[]): ReadonlyMap<string, bigint> {
  return new Map(
    losses.map(({ operation, lost }) => {
      const wei = BigInt(lost) * 1_000_000_000n;
      const { actualGasCost } = operation;
      return [operationId(operation), wei < actualGasCost ? wei : actualGasCost];
    }),
  );
}

/**
 * What an operation took: its cost from the contract's deposit, and the same from the balance inside the contract that paid. What the
 * contract charged that balance is another event and counts as burnt, so the cost comes off there.
 */
function partsOfOperation(operation: MinedOperation, keeper: Keeper | undefined, lost = 0n): readonly Part[] {
  const { paymaster: contract, actualGasCost: cost, blockNumber, blockHash, transactionHash } = operation;
  const of = { blockNumber, blockHash, transactionHash, count: 1 };
  const nobody = { organisation: '', paymasterId: '' };
  if (keeper === undefined)
    return [{ account: { contract }, kind: 'burnt', amountWei: cost, ...nobody, ...of }];
  const { organisation, paymasterId, wallet } = keeper;
  const accounts: readonly AccountId[] = [{ contract }, ...(wallet === undefined ? [] : [wallet])];
  return [
    ...accounts.flatMap((account): Part[] => {
      const owned = { account, organisation, paymasterId, ...of };
      const mined: Part = { ...owned, kind: 'mined', amountWei: cost - lost };
      return lost === 0n ? [mined] : [mined, { ...owned, kind: 'loss', amountWei: lost }];
    }),
    ...(wallet === undefined
      ? []
      : [{ account: wallet, kind: 'burnt' as const, amountWei: -cost, ...nobody, ...of, count: 0 }]),
  ];
}

export function partOfEvent({ account, kind, amount, ...place }: BalanceEvent): Part {
  const owner = { organisation: '', paymasterId: '' };
  return {
    account,
    kind: kind === 'charge' ? 'burnt' : kind,
    amountWei: amount,
    count: 1,
    ...owner,
    ...place,
  };
}

/** Of an operation that nobody promised. */
export function unpromisedParts(operation: MinedOperation): readonly Part[] {
  return partsOfOperation(operation, undefined);
}

/** Takes parts back. */
export function negatedParts(parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => ({
    ...part,
    amountWei: part.amountWei === undefined ? undefined : -part.amountWei,
    count: -part.count,
  }));
}

/** A sum of parts; `isWhole`: none of them was undefined. */
export type Sum = Part & { readonly isWhole: boolean; readonly logIndex: number };

/** One for each account, block, kind and paymaster. */
export function sumParts(parts: readonly Part[], logIndex: number): readonly Sum[] {
  const sums = new Map<string, Sum>();
  for (const part of parts) {
    const { account, blockNumber, kind, paymasterId, amountWei, count } = part;
    const name = [accountName(account), blockNumber, kind, paymasterId].join(' ');
    const sum = sums.get(name);
    sums.set(name, {
      ...(sum ?? part),
      amountWei: (sum?.amountWei ?? 0n) + (amountWei ?? 0n),
      count: (sum?.count ?? 0) + count,
      isWhole: (sum?.isWhole ?? true) && amountWei !== undefined,
      logIndex,
    });
  }
  return [...sums.values()];
}

/** How a kind changes the balance. */
const signs: Readonly<Record<Exclude<MovementKind, 'edge' | 'seen'>, bigint>> = {
  deposit: 1n,
  withdrawal: -1n,
  mined: -1n,
  burnt: -1n,
  loss: -1n,
};

/** What the other movements of its account and block leave unexplained of a balance's change is the one that no event tells. */
export function solved(sum: Sum, all: readonly Sum[], change: bigint): Sum {
  const known = all
    .filter((other) => other !== sum && isBeside(other, sum))
    .reduce((total, { kind, amountWei }) => total + kindSign(kind) * (amountWei ?? 0n), 0n);
  return { ...sum, amountWei: kindSign(sum.kind) * (change - known), isWhole: true };
}

function isBeside(one: Sum, other: Sum): boolean {
  return one.blockNumber === other.blockNumber && accountName(one.account) === accountName(other.account);
}

function kindSign(kind: MovementKind): bigint {
  return kind === 'edge' || kind === 'seen' ? 0n : signs[kind];
}

export function toMovement(sum: Sum, at: EpochMs): Movement {
  const { account, kind, blockNumber, logIndex, organisation, paymasterId, count, transactionHash } = sum;
  return {
    contract: account.contract,
    fundingAddress: account.fundingAddress,
    kind,
    blockNumber,
    logIndex,
    at,
    organisation,
    paymasterId,
    amountWei: sum.isWhole ? sum.amountWei : undefined,
    count,
    transactionHash,
  };
}

/**
 * Operations whose balance was not charged by an event: their postOp failed, and the contract keeps what its validation took. No event
 * says how much, so an undefined part stands for it.
 */
export function unreportedCharges(
  kept: readonly { readonly operation: MinedOperation; readonly keeper: Keeper }[],
  events: readonly BalanceEvent[],
): readonly Part[] {
  return kept.flatMap(({ operation, keeper: { wallet } }): Part[] => {
    if (wallet === undefined) return [];
    const isCharge = (event: BalanceEvent): boolean =>
      event.kind === 'charge' &&
      event.transactionHash === operation.transactionHash &&
      accountName(event.account) === accountName(wallet);
    const charges = events.filter(isCharge).length;
    const operations = kept.filter(
      (other) =>
        other.operation.transactionHash === operation.transactionHash &&
        other.keeper.wallet !== undefined &&
        accountName(other.keeper.wallet) === accountName(wallet),
    ).length;
    if (charges >= operations) return [];
    const { blockNumber, blockHash, transactionHash } = operation;
    const place = { blockNumber, blockHash, transactionHash };
    return [
      {
        account: wallet,
        kind: 'burnt',
        amountWei: undefined,
        count: 0,
        organisation: '',
        paymasterId: '',
        ...place,
      },
    ];
  });
}
