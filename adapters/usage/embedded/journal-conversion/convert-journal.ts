import { DomainError } from '../../../../core/errors.js';
import { exposureCounter, limitCounter, liveCounter } from '../../../../core/usage/counter-names.js';
import type { Reservation } from '../../../../core/usage/usage-store.js';
import type { AddressKey } from '../../../../core/units/address.js';
import type { Hex } from '../../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../../core/units/time.js';
import { gwei } from '../../../../core/units/wei.js';
import type { Database } from '../../../sqlite/database.js';
import { createUsageTables, emptyUsage, ledgerOf, type Usage } from '../usage-tables.js';
import { FormerUsage, type FormerReservation, type FormerWindow } from './former-usage.js';
import { dropJournal, isJournal, readJournal } from './journal.js';

/**
 * Converts a file from before the usage tables (a journal and images of it) to the tables, once and in one transaction.
 * Throws UNAVAILABLE with what to do when the file is damaged.
 *
 * This folder is deleted with the first release that no longer has to read such files: one minor release after the
 * tables were introduced, as CHANGELOG.md promises.
 */
export function convertJournal(db: Database): void {
  if (!db.run(() => isJournal(db))) return;
  db.transaction(() => {
    const usage = converted(db);
    const chains = [...usage.chains.values()].flatMap((chain) => {
      const changes = chain.takeChanges();
      return changes === undefined ? [] : [{ chain, changes }];
    });
    createUsageTables(db).put(chains, usage.messages);
    dropJournal(db);
  });
}

function converted(db: Database): Usage {
  try {
    const former = new FormerUsage();
    for (const op of readJournal(db)) former.apply(op);
    return usageOf(former);
  } catch (cause) {
    if (!(cause instanceof RangeError || cause instanceof SyntaxError || cause instanceof TypeError))
      throw cause;
    throw new DomainError(
      'UNAVAILABLE',
      `${db.path} is damaged and cannot be read (${cause.message}): releases before this one could write such a file. ` +
        `Stop the server and move ${db.path} with its -wal, -shm and .lock files away, then start again. ` +
        'Nothing is signed until every promise made before has expired, and limits refuse until their windows turn.',
      { reason: 'USAGE_STORE_DAMAGED', cause },
    );
  }
}

/**
 * Counters of the former token mode that promises no longer use: holds now bound the exposure, and losses are charges.
 */
const isTokenCounter = ({ policyId }: FormerWindow) => policyId.startsWith('token-');
const tokenSuffix = '+ERC20';

function usageOf(former: FormerUsage): Usage {
  const usage = emptyUsage(0);
  const { epochs, cursors, balances, reservations, messages } = former;
  const named = [...balances.values(), ...reservations.values()].map(({ chainId }) => chainId);
  const chainIds = new Set([...epochs.keys(), ...cursors.keys(), ...named]);
  for (const chainId of chainIds) {
    const chain = ledgerOf(usage, chainId);
    chain.setEpoch(epochs.get(chainId) ?? '');
    chain.forgottenUntil = former.forgottenUntil;
    const cursor = cursors.get(chainId);
    if (cursor !== undefined)
      chain.cursor = {
        blockNumber: cursor.blockNumber,
        blockHash: cursor.blockHash as Hex,
        timestamp: cursor.timestamp as EpochSeconds,
      };
    // The former format does not name the chain of a paymaster. Its id is unique, so the other chains never ask for it.
    const now = Math.max(0, ...[...balances.values()].map(({ readAt }) => readAt)) as EpochMs;
    const fences = Array.from(former.generations, ([id, generation]) => ({
      id: withoutSuffix(id),
      generation,
    }));
    chain.noteGenerations(fences, now);
    for (const window of former.windows.values())
      for (const [subject, used] of window.used) {
        if (!isOf(window, chainId) || used === 0) continue;
        const { unit } = window;
        const counter = chain.counters.of({ counter: nameOf(window, subject), unit });
        chain.charge(counter, used, endOf(window));
      }
  }
  for (const { chainId, contract, funding, balance, readAt } of balances.values())
    ledgerOf(usage, chainId).setBalance(accountOf(contract, funding), gwei(balance), readAt as EpochMs);
  for (const one of reservations.values()) ledgerOf(usage, one.chainId).restore(reservationOf(one));
  for (const [paymasterId, { message, expiresAt }] of messages)
    usage.messages.set(paymasterId, { message, expiresAt: expiresAt as EpochMs });
  return usage;
}

/** The promises are not known one by one: only the amount that the contract's own account was to pay. */
function reservationOf(former: FormerReservation): Reservation {
  const { chainId, paymasterId, entryPoint, sender, nonce, contract, isToken } = former;
  const validUntil = former.validUntil as EpochSeconds;
  const own = former.accounts.find((one) => one.contract === contract && one.funding === undefined);
  const need = own?.need ?? Math.max(0, ...former.accounts.map((one) => one.need));
  const live = { counter: liveCounter(withoutSuffix(paymasterId)), unit: 'COUNT', cost: 1 } as const;
  const exposure = { counter: exposureCounter(contract, 'all'), unit: 'NATIVE_ASSET', cost: need } as const;
  return {
    key: { chainId, paymasterId, entryPoint, sender, nonce },
    promises: [],
    folded: [
      {
        mode: isToken ? 'ERC20' : 'SPONSORED',
        contract,
        prefundWei: BigInt(need) * 1_000_000_000n,
        validUntil,
      },
    ],
    validUntil,
    limits: former.limits
      .filter(({ window }) => !isTokenCounter(window))
      .map(({ window, subject, cost }) => ({
        counter: nameOf(window, subject),
        unit: window.unit,
        until: endOf(window),
        cost,
      })),
    holds: isToken ? [live, exposure] : [live],
    accounts: former.accounts.map(({ contract: of, funding, need: amount }) => ({
      ...accountOf(of, funding),
      need: gwei(amount),
    })),
  };
}

function isOf(window: FormerWindow, chainId: number): boolean {
  if (!isTokenCounter(window)) return true;
  return window.policyId.startsWith(`token-loss:${chainId}:`);
}

function nameOf({ policyId, startMs, index }: FormerWindow, subject: string): string {
  return limitCounter({ policyId, startMs: startMs as EpochMs }, index, subject as AddressKey | '');
}

function endOf({ startMs, index, durationMs }: FormerWindow): EpochMs {
  return (startMs + (index + 1) * durationMs) as EpochMs;
}

function accountOf(contract: AddressKey, funding: AddressKey | undefined) {
  return funding === undefined ? { contract } : { contract, fundingAddress: funding };
}

function withoutSuffix(paymasterId: string): string {
  return paymasterId.endsWith(tokenSuffix) ? paymasterId.slice(0, -tokenSuffix.length) : paymasterId;
}
