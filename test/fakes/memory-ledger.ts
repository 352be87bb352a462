import { DomainError } from '../../core/errors.js';
import {
  defaultRetention,
  type Ledger,
  type LedgerEntry,
  type LedgerMaintenance,
} from '../../core/ledger/ledger.js';
import { recordTime } from '../../core/ledger/record-id.js';
import type {
  AccountName,
  DecisionQuery,
  DecisionView,
  UsageGroup,
  UsageQuery,
  UsageRow,
} from '../../core/ledger/query.js';
import type {
  Decision,
  FundsSample,
  Gap,
  MinedFacts,
  Reversal,
  Settlement,
} from '../../core/ledger/record.js';
import type { PastGap, PastRecord } from '../../core/ledger/past.js';
import type { SpentRow } from '../../core/ledger/spent.js';
import type { HourPrice } from '../../core/ledger/prices.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { createMemoryMovements } from './memory-movements.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A ledger with the writing that turns do. */
export type TestedLedger = Ledger &
  Pick<LedgerMaintenance, 'prune'> & { append(entries: readonly LedgerEntry[]): Promise<void> };

type Event = {
  readonly at: EpochMs;
  readonly organisation: string;
  readonly paymasterId: string;
  readonly chainId: number;
  readonly decision: Decision | undefined;
  readonly reason: string | undefined;
  readonly counts: Partial<
    Record<'asks' | 'sponsored' | 'refused' | 'mined' | 'reverted' | 'expired', number>
  >;
  readonly promised: bigint;
  readonly mined: MinedFacts | undefined;
};

/**
 * A ledger in memory, for tests: it keeps all records and computes every answer from them, without roll-ups, so that
 * the others can be compared with it.
 */
export function createMemoryLedger(): TestedLedger {
  const entries = new Map<string, LedgerEntry>();
  /** Ids of entries by reservation. */
  const reservations = new Map<string, Set<string>>();
  const samples = new Map<string, FundsSample>();
  const balances = createMemoryMovements();
  let isOpen = true;

  async function open<T>(work: () => T): Promise<T> {
    if (!isOpen) throw new DomainError('UNAVAILABLE', 'The ledger is closed.');
    return work();
  }

  function decisions(): (LedgerEntry & { readonly record: Decision })[] {
    return [...entries.values()].filter(
      (entry): entry is LedgerEntry & { readonly record: Decision } => entry.record.kind === 'decision',
    );
  }

  function ofReservation(reservation: string): LedgerEntry['record'][] {
    return [...(reservations.get(reservation) ?? [])]
      .map((id) => entries.get(id)?.record)
      .filter((record) => record !== undefined)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  function endingsOf(reservation: string): (Settlement | Reversal)[] {
    return ofReservation(reservation).filter(
      (record) => record.kind === 'settlement' || record.kind === 'reversal',
    );
  }

  function standing(reservation: string): { settlement: Settlement | undefined; takenBack: number } {
    let settlement: Settlement | undefined;
    let takenBack = 0;
    for (const ending of endingsOf(reservation)) {
      if (ending.kind === 'reversal' && settlement !== undefined) takenBack += 1;
      settlement = ending.kind === 'settlement' ? ending : undefined;
    }
    return { settlement, takenBack };
  }

  function promisesOf(reservation: string): Decision[] {
    return ofReservation(reservation).filter(
      (record): record is Decision => record.kind === 'decision' && record.verdict === 'sponsored',
    );
  }

  function minedOf(reservation: string, mined: MinedFacts): Decision | undefined {
    const promises = promisesOf(reservation);
    return (
      promises.find(({ digest }) => digest !== undefined && digest === mined.digest) ??
      promises.find(({ userOpHash }) => userOpHash === mined.userOpHash) ??
      (mined.digest === undefined ? promises.at(-1) : undefined)
    );
  }

  function viewOf({ record, reservation }: LedgerEntry & { readonly record: Decision }): DecisionView {
    const none = { decision: record, settlement: undefined };
    if (reservation === undefined || record.verdict !== 'sponsored') return none;
    const { settlement, takenBack } = standing(reservation);
    if (settlement === undefined) return none;
    const { outcome, at, mined } = settlement;
    if (mined === undefined || minedOf(reservation, mined)?.id === record.id)
      return { decision: record, settlement: { outcome, at, mined, takenBack } };
    return { decision: record, settlement: { outcome: 'spent-elsewhere', at, mined: undefined, takenBack } };
  }

  /** Everything that counts, for one organisation or for all. */
  function events(organisation?: string): Event[] {
    const found: Event[] = [];
    const base = { promised: 0n, mined: undefined, decision: undefined };
    const ended = new Set<string>();
    for (const { record, reservation } of entries.values()) {
      if (record.kind === 'funds' || record.kind === 'movements') continue;
      // A settlement may name none: it belongs to the organisation of its decisions.
      const isForeign = organisation !== undefined && record.organisation !== organisation;
      if (isForeign && record.kind !== 'settlement') continue;
      if (record.kind === 'settlement') ended.add(reservation ?? record.id);
      if (record.kind === 'decision' && record.verdict !== 'committed')
        found.push({
          ...base,
          ...record,
          decision: record,
          counts: record.verdict === 'sponsored' ? { asks: 1 } : { refused: 1 },
        });
      if (record.kind === 'gap')
        found.push({
          ...base,
          ...(record satisfies Gap),
          counts:
            record.cause === 'signed'
              ? { asks: record.count, sponsored: record.count }
              : { refused: record.count },
        });
    }
    // Once, by its oldest promise, with the most that any can cost.
    for (const reservation of reservations.keys()) {
      const [oldest, ...others] = promisesOf(reservation);
      if (oldest === undefined || (organisation !== undefined && oldest.organisation !== organisation))
        continue;
      const costs = [oldest, ...others].map(({ maxCostWei = 0n }) => maxCostWei);
      const promised = costs.reduce((most, cost) => (cost > most ? cost : most));
      found.push({ ...base, ...oldest, decision: oldest, counts: { sponsored: 1 }, promised });
    }
    for (const reservation of ended) {
      const { settlement } = standing(reservation);
      if (settlement === undefined) continue;
      const { mined } = settlement;
      const winner = mined && minedOf(reservation, mined);
      const paid = mined && { counts: { mined: 1, reverted: mined.success ? 0 : 1 }, mined };
      if (paid && !winner) found.push({ ...base, ...settlement, reason: undefined, ...paid });
      const counting = paid ? winner : promisesOf(reservation)[0];
      if (counting !== undefined)
        found.push({
          ...base,
          ...counting,
          at: settlement.at,
          decision: counting,
          ...(paid ?? { counts: { expired: 1 } }),
        });
    }
    return found;
  }

  return {
    append: (added) =>
      open(() => {
        for (const entry of added) {
          const { record } = entry;
          recordTime(record.id);
          if (record.kind === 'funds') {
            const key = `${accountOf(record)} ${Math.floor(record.at / minuteMs)}`;
            if (!samples.has(key)) samples.set(key, record);
          } else if (record.kind === 'movements') {
            balances.append(record);
          } else if (!entries.has(record.id)) {
            entries.set(record.id, entry);
            const reservation = entry.reservation ?? record.id;
            reservations.set(reservation, (reservations.get(reservation) ?? new Set()).add(record.id));
          }
        }
      }),

    usage: (query) => open(() => usageRows(events(query.organisation), query)),

    decisions: (query) =>
      open(() => {
        const found = decisions()
          .filter(({ record }) => record.organisation === query.organisation)
          .map(viewOf)
          .filter((view) => matches(view, query))
          .sort((a, b) => (a.decision.id < b.decision.id ? 1 : -1));
        const page = found.slice(0, query.limit);
        return { decisions: page, next: found.length > page.length ? page.at(-1)?.decision.id : undefined };
      }),

    decision: (organisation, id) =>
      open(() => {
        const entry = decisions().find(
          ({ record }) => record.id === id && record.organisation === organisation,
        );
        return entry && viewOf(entry);
      }),

    funds: ({ accounts, from, to, samples: isAsked = true }) =>
      open(() =>
        accounts.map((account) => ({
          account,
          samples: [...samples.values()]
            .filter(
              (sample) =>
                isAsked && accountOf(sample) === accountOf(account) && sample.at >= from && sample.at < to,
            )
            .sort((a, b) => a.at - b.at)
            .map(({ at, balanceWei, promisedWei, usdPerNative }) => ({
              at,
              balanceWei,
              promisedWei,
              usdPerNative,
            })),
          spentWei: events()
            .filter(
              ({ at, decision }) =>
                decision &&
                [decision, { ...decision, fundingAddress: undefined }].some(
                  (paying) => accountOf(paying) === accountOf(account),
                ) &&
                at >= from &&
                at < to,
            )
            .reduce((sum, { mined }) => sum + (mined?.actualGasCostWei ?? 0n), 0n),
        })),
      ),

    spent: (query) =>
      open(() => {
        if (query.groupBy === 'sender') return undefined;
        const step = query.step === 'minute' ? 'minute' : 'hour';
        // One event after the other: each has its own chain.
        return events(query.organisation).flatMap((event): SpentRow[] => {
          const { chainId, paymasterId } = event;
          const rows = usageRows([event], {
            ...query,
            groupBy: query.groupBy ?? 'paymaster',
            step,
            limit: Infinity,
          });
          return rows
            .filter(({ spentWei }) => spentWei !== 0n)
            .map(({ from, group = '', spentWei }) => {
              const start = (from - (from % stepMs[step])) as EpochMs;
              return { start, paymasterId, group, chainId, spentWei };
            });
        });
      }),

    statement: (query) => open(() => balances.statement(query)),

    past: ({ organisation, paymasterId, from, to, after = '', limit }) =>
      open(() => {
        const records = [...entries.values()]
          .filter(({ record }) => 'paymasterId' in record && record.paymasterId === paymasterId)
          .filter(({ record }) => 'organisation' in record && record.organisation === organisation)
          .filter(({ record: { id } }) => recordTime(id) >= from && recordTime(id) < to && id > after)
          .toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1))
          .flatMap(pastOf);
        const page = records.slice(0, limit);
        const last = page.length < limit ? undefined : page.at(-1)?.id;
        return { text: JSON.stringify(page), last };
      }),

    gaps: ({ organisation, paymasterId, from, to }) =>
      open(() => {
        const counts = new Map<string, PastGap>();
        for (const { record } of entries.values()) {
          if (record.kind !== 'gap' || record.at < from || record.at >= to) continue;
          if (record.organisation !== organisation || record.paymasterId !== paymasterId) continue;
          const { cause, reason, count } = record;
          const known = counts.get(`${cause} ${reason}`)?.count ?? 0;
          counts.set(`${cause} ${reason}`, { cause, reason, count: known + count });
        }
        return [...counts.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, gap]) => gap);
      }),

    prices: ({ chainIds, from, to }) =>
      open(() => {
        const first = new Map<string, HourPrice>();
        for (const sample of [...samples.values()].sort((a, b) => a.at - b.at)) {
          const { chainId, at, usdPerNative } = sample;
          const hour = (at - (at % hourMs)) as EpochMs;
          // An hour keeps the first sample of each account.
          const isFirst = [...samples.values()].every(
            (other) =>
              accountOf(other) !== accountOf(sample) ||
              other.at >= at ||
              other.at - (other.at % hourMs) !== hour,
          );
          const isAsked = chainIds.includes(chainId) && hour >= from && hour < to;
          if (!isAsked || !isFirst || usdPerNative === undefined || sample.fundingAddress !== undefined)
            continue;
          if (!first.has(`${chainId} ${hour}`))
            first.set(`${chainId} ${hour}`, { chainId, hour, at, usdPerNative });
        }
        return [...first.values()].sort((a, b) => a.chainId - b.chainId || a.hour - b.hour);
      }),

    prune: (now) =>
      open(() => {
        const oldest = (days: number): number => now - days * dayMs;
        for (const [id, { record }] of entries)
          if (record.at < oldest(defaultRetention.decisions)) entries.delete(id);
        const hours = new Set<string>();
        for (const [key, sample] of [...samples].sort(([, a], [, b]) => a.at - b.at)) {
          const hour = `${accountOf(sample)} ${Math.floor(sample.at / hourMs)}`;
          const isKept = sample.at >= oldest(defaultRetention.funds) || !hours.has(hour);
          hours.add(hour);
          if (!isKept || sample.at < oldest(defaultRetention.decisions)) samples.delete(key);
        }
        return false;
      }),
    ping: () => open(() => undefined),
    stop: async () => {
      isOpen = false;
    },
  };
}

function usageRows(events: readonly Event[], query: UsageQuery): readonly UsageRow[] {
  const rows = new Map<string, { row: UsageRow; tokens: Map<AddressKey, [number | undefined, bigint]> }>();
  for (const event of events) {
    if (event.organisation !== query.organisation) continue;
    if (query.paymasterId !== undefined && event.paymasterId !== query.paymasterId) continue;
    if (event.at < query.from || event.at >= query.to) continue;
    const from = Math.max(query.from, stepStart(event.at, query.step));
    const to = Math.min(query.to, stepEnd(event.at, query.step));
    for (const [group, parts] of valuesOf(event, query.groupBy)) {
      const key = `${from} ${group ?? ''}`;
      const { row, tokens } = rows.get(key) ?? {
        row: emptyRow(from as EpochMs, to as EpochMs, group),
        tokens: new Map<AddressKey, [number | undefined, bigint]>(),
      };
      const part = (amount: bigint): bigint => partOf(amount, event.decision?.calls.length ?? 0, parts);
      const token = event.mined?.token;
      if (token)
        tokens.set(token.address, [
          token.decimals,
          (tokens.get(token.address)?.[1] ?? 0n) + part(token.amount),
        ]);
      const counted: UsageRow = {
        ...row,
        asks: row.asks + (event.counts.asks ?? 0),
        sponsored: row.sponsored + (event.counts.sponsored ?? 0),
        refused: row.refused + (event.counts.refused ?? 0),
        mined: row.mined + (event.counts.mined ?? 0),
        reverted: row.reverted + (event.counts.reverted ?? 0),
        expired: row.expired + (event.counts.expired ?? 0),
        promisedWei: row.promisedWei + part(event.promised),
        spentWei: row.spentWei + part(event.mined?.actualGasCostWei ?? 0n),
        tokens: [...tokens]
          .filter(([, [, amount]]) => amount !== 0n)
          .map(([address, [decimals, amount]]) => ({ address, decimals, amount }))
          .sort((a, b) => (a.address < b.address ? -1 : 1)),
      };
      rows.set(key, { row: counted, tokens });
    }
  }
  return [...rows.values()]
    .map(({ row }) => row)
    .sort((a, b) => a.from - b.from || ((a.group ?? '') < (b.group ?? '') ? -1 : 1))
    .slice(0, query.limit + 1);
}

function emptyRow(from: EpochMs, to: EpochMs, group: string | undefined): UsageRow {
  const counts = { asks: 0, sponsored: 0, refused: 0, mined: 0, reverted: 0, expired: 0 };
  return { from, to, group, ...counts, promisedWei: 0n, spentWei: 0n, tokens: [] };
}

type Effect = Decision['policies'][number]['effect'];

/** Policies, or the campaign, on which the operation had one of these effects. */
function policiesOf(decision: Event['decision'], ...effects: readonly Effect[]): ReadonlySet<string> {
  const policies = decision?.policies ?? [];
  return new Set(policies.filter(({ effect }) => effects.includes(effect)).map(({ policyId }) => policyId));
}

/** Values of the group with the indices of their calls; undefined: all of the operation. */
function valuesOf(
  { decision, paymasterId, chainId, reason }: Event,
  groupBy: UsageGroup | undefined,
): [string | undefined, readonly number[] | undefined][] {
  switch (groupBy) {
    case undefined:
      return [[undefined, undefined]];
    case 'paymaster':
      return [[paymasterId, undefined]];
    case 'chain':
      return [[String(chainId), undefined]];
    case 'reason':
      return [[reason ?? '(none)', undefined]];
    case 'mode':
      return [[decision?.mode ?? '(none)', undefined]];
    case 'sender':
      return decision ? [[decision.sender, undefined]] : [];
    case 'wouldRefuse':
      return [...policiesOf(decision, 'would_refuse')].map((id) => [id, undefined]);
    case 'campaign':
      return [...policiesOf(decision, 'campaign')].map((name) => [name, undefined]);
    case 'key': {
      const names = policiesOf(decision, 'key');
      return names.size === 0 ? [['(none)', undefined]] : [...names].map((name) => [name, undefined]);
    }
    case 'policy': {
      const ids = policiesOf(decision, 'counted', 'refused');
      return ids.size === 0 ? [['(none)', undefined]] : [...ids].map((id) => [id, undefined]);
    }
    default: {
      const values = new Map<string, number[]>();
      for (const [index, { contractId, name, selector }] of (decision?.calls ?? []).entries()) {
        const method = name ?? (selector === '0x' ? '0x' : undefined);
        const value =
          groupBy === 'contract'
            ? (contractId ?? 'other')
            : contractId !== undefined && method !== undefined
              ? `${contractId}:${method}`
              : 'other';
        values.set(value, [...(values.get(value) ?? []), index]);
      }
      return values.size === 0 ? [['(none)', undefined]] : [...values];
    }
  }
}

function partOf(amount: bigint, calls: number, indices: readonly number[] | undefined): bigint {
  if (indices === undefined) return amount;
  const all = BigInt(calls);
  return indices.reduce((sum, index) => sum + amount / all + (index === 0 ? amount % all : 0n), 0n);
}

const stepMs = { minute: 60_000, hour: hourMs, day: dayMs } as const;

function stepStart(at: EpochMs, step: UsageQuery['step']): number {
  const date = new Date(at);
  if (step === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  return at - (at % stepMs[step]);
}

function stepEnd(at: EpochMs, step: UsageQuery['step']): number {
  const date = new Date(at);
  if (step === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  return stepStart(at, step) + stepMs[step];
}

function matches({ decision, settlement }: DecisionView, query: DecisionQuery): boolean {
  const { at, id } = decision;
  return (
    decision.organisation === query.organisation &&
    at >= query.from &&
    at < query.to &&
    (query.before === undefined || id < query.before) &&
    (query.paymasterId === undefined || decision.paymasterId === query.paymasterId) &&
    (query.sender === undefined || decision.sender === query.sender) &&
    (query.verdict === undefined || decision.verdict === query.verdict) &&
    (query.reason === undefined || decision.reason === query.reason) &&
    (query.key === undefined ||
      decision.policies.some(({ policyId, effect }) => effect === 'key' && policyId === query.key)) &&
    (query.selector === undefined || decision.calls.some(({ selector }) => selector === query.selector)) &&
    (query.minCostWei === undefined || (decision.maxCostWei ?? -1n) >= query.minCostWei) &&
    (query.userOpHash === undefined ||
      [decision.userOpHash, settlement?.mined?.userOpHash].includes(query.userOpHash)) &&
    (query.requestId === undefined ||
      [decision.requestId, decision.callerRequestId].includes(query.requestId))
  );
}

function accountOf({
  chainId,
  contract,
  fundingAddress,
}: Omit<AccountName, 'contract'> & Pick<Decision, 'contract'>): string {
  return `${chainId} ${contract ?? ''} ${fundingAddress ?? ''}`;
}

function pastOf({ record, reservation: of }: LedgerEntry): PastRecord[] {
  const reservation = of ?? null;
  const { id } = record;
  if (record.kind === 'settlement') {
    const { outcome, mined } = record;
    return [{ id, reservation, verdict: null, outcome, cost: mined?.actualGasCostWei.toString() ?? null }];
  }
  if (record.kind === 'reversal') return [{ id, reservation, verdict: null, outcome: null, cost: null }];
  if (record.kind !== 'decision') return [];
  const { verdict, reason = null, mode = null, entryPoint, sender, factory = null, calls, policies } = record;
  return [
    {
      id,
      verdict,
      reason,
      mode,
      reservation,
      entryPoint,
      sender,
      nonce: String(record.nonce),
      factory,
      calls: JSON.stringify(calls),
      callsLeftOut: record.callsLeftOut ?? null,
      campaign: policies.find(({ effect }) => effect === 'campaign')?.policyId ?? null,
      maxCost: record.maxCostWei?.toString() ?? null,
      usdPerNative: record.usdPerNative?.toString() ?? null,
    },
  ];
}
