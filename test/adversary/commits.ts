import type { Hex } from '../../core/units/hex.js';
import { splitPaymasterSignature } from '../../core/entry-point/paymaster-signature.js';
import { commitMs, openCommitsPerSender, type Reservation } from '../../core/usage/reservation.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { BrokenRule } from './broken-rule.js';
import type { AccountCall } from './chain/operations.js';
import { operationOf, type Grant } from './grant.js';
import type { GivenGas } from './service.js';
import { paymasters } from './world.js';

/** A commit that the service has answered. */
export type Commit = {
  readonly paymaster: number;
  readonly mode: 'SPONSORED' | 'ERC20';
  /** Mode ERC20: whether the data demand the tokens in validation. */
  readonly inAdvance: boolean;
  readonly paymasterGas: GivenGas;
  readonly op: FinalUserOperation;
  readonly call: AccountCall;
  /** With the placeholder. */
  readonly paymasterAndData: Hex;
  readonly validUntil: number;
};

/** `until`: its end, earlier when another commit has replaced it. */
type Open = { readonly commit: Commit; until: number };

/**
 * Rules of signing in two phases, from what the service has answered:
 *
 * 16. At most one promise per commit: exactly what was committed, while the commit is open; then it is not refused as over.
 * 17. No promise without its reservation.
 * 18. A commit that is over holds nothing.
 * 19. Nothing is signed for an operation that its account has not signed.
 */
export class Commits {
  /** The last one of the same bytes. */
  readonly #byName = new Map<string, Open>();
  /** Those that were not over at the last look. */
  #open: readonly Open[] = [];
  /** The newest last. */
  readonly made: Commit[] = [];
  /** How many were made when a process was last killed or replaced. */
  #madeBefore = 0;

  /** A process that may have answered them has ended. */
  survived(): void {
    this.#madeBefore = this.made.length;
  }

  /** Whether a process was killed or replaced since the commit. */
  isOlder(commit: Commit): boolean {
    return this.made.indexOf(commit) < this.#madeBefore;
  }

  /** Commits that were answered at the same moment replace earlier ones of the same nonce key. */
  add(answered: readonly Commit[], now: number): void {
    const parties = new Set(answered.map(partyOf));
    for (const other of this.#open)
      if (parties.has(partyOf(other.commit))) other.until = Math.min(other.until, now);
    for (const commit of answered) {
      const open = { commit, until: Math.min(now + commitMs, commit.validUntil * 1_000) };
      this.#byName.set(nameOf(commit), open);
      this.#open = [...this.#open, open];
      this.made.push(commit);
    }
  }

  /** Whether a commit is over since the last call. */
  haveEnded(now: number): boolean {
    const open = this.#open.filter(({ until }) => until > now);
    const haveEnded = open.length < this.#open.length;
    this.#open = open;
    return haveEnded;
  }

  /** A commit was refused as not open now. Throws {@link BrokenRule} when its time is not over. */
  checkOver(commit: Commit, now: number): void {
    const open = this.#byName.get(nameOf(commit));
    if (open === undefined || open.until <= now) return;
    throw new BrokenRule(
      16,
      `nonce ${commit.op.nonce} of ${commit.op.sender} was not signed for an open commit`,
    );
  }

  /** A signature was answered to a finalize of this operation, which was decided now. Throws {@link BrokenRule}. */
  checkPromise(
    promised: Pick<Commit, 'paymaster' | 'op' | 'paymasterAndData'>,
    { now, isByAccount }: { readonly now: number; readonly isByAccount: boolean },
  ): void {
    const { sender, nonce } = promised.op;
    if (!isByAccount) throw new BrokenRule(19, `nonce ${nonce} of ${sender} was signed without its account`);
    const open = this.#byName.get(nameOf(promised));
    if (open === undefined)
      throw new BrokenRule(16, `nonce ${nonce} of ${sender} was signed, and another operation committed`);
    if (open.until <= now)
      throw new BrokenRule(16, `nonce ${nonce} of ${sender} was signed when its commit was over`);
  }
}

/** Identifies what is committed and promised: everything but the signatures. */
export function nameOf({
  paymaster,
  op,
  paymasterAndData,
}: Pick<Commit, 'paymaster' | 'op' | 'paymasterAndData'>): string {
  const tail = splitPaymasterSignature(paymasterAndData);
  const { sender, nonce, callData, callGasLimit, maxFeePerGas } = op;
  return [
    paymaster,
    sender,
    nonce,
    callData,
    callGasLimit,
    maxFeePerGas,
    tail.kind === 'signature' ? tail.data : '',
  ].join('/');
}

/** Nonces of one key are used one after the other. */
function partyOf({ paymaster, op }: Commit): string {
  return `${paymaster}/${op.sender}/${op.nonce >> 64n}`;
}

/** Rule 17: throws {@link BrokenRule} unless the reservation of a promise holds what it may cost. */
export function checkReserved(reservations: readonly Reservation[], paymasterId: string, grant: Grant): void {
  const { sender, nonce } = grant.op;
  const found = reservations.find((one) => one.key.paymasterId === paymasterId);
  const isPromised = found !== undefined && found.promises.length + found.folded.length > 0;
  if (!isPromised || depositOf(found) < grant.cost)
    throw new BrokenRule(17, `nonce ${nonce} of ${sender} was signed without a reservation`);
}

/**
 * Rule 18, right after commits that are over were freed: throws {@link BrokenRule} for one that is left, and for amounts that
 * no promise and no open commit explain. `isUnclear`: reservations of requests that nobody knows the answer to.
 */
export function checkFreed(
  reservations: readonly Reservation[],
  grants: readonly Grant[],
  { now, isUnclear }: { readonly now: number; readonly isUnclear: (name: string) => boolean },
): void {
  const most = new Map<string, number>();
  for (const grant of grants) {
    const name = reservationName(grant.paymaster, operationOf(grant));
    most.set(name, Math.max(most.get(name) ?? 0, grant.cost));
  }
  const open = new Map<string, number>();
  for (const { key, commit, ...held } of reservations) {
    const name = `${key.paymasterId} ${key.entryPoint}/${key.sender}/${key.nonce}`;
    if (commit !== undefined) {
      if (commit.until <= now) throw new BrokenRule(18, `the commit of ${name} is over and holds on`);
      const party = `${key.paymasterId}/${key.entryPoint}/${key.sender}`;
      open.set(party, (open.get(party) ?? 0) + 1);
      continue;
    }
    if (isUnclear(name) || depositOf(held) <= (most.get(name) ?? -1)) continue;
    throw new BrokenRule(18, `${name} holds ${depositOf(held)} gwei, promised were ${most.get(name)}`);
  }
  for (const [party, count] of open)
    if (count > openCommitsPerSender) throw new BrokenRule(18, `${party} has ${count} open commits`);
}

/** Names the reservation of a paymaster for an operation. */
export function reservationName(paymaster: number, operation: string): string {
  return `${paymasters[paymaster]!.paymasterId} ${operation}`;
}

/** Gwei of the contract's deposit. */
function depositOf({ accounts }: Pick<Reservation, 'accounts'>): number {
  return accounts.find(({ fundingAddress }) => fundingAddress === undefined)?.need ?? 0;
}
