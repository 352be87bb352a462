import { randomUUID } from 'node:crypto';
import { pause } from '../../pause.js';
import type {
  Charge,
  Cursor,
  FollowerStep,
  Reservation,
  StepResult,
} from '../../../core/usage/usage-store.js';
import { orderOf } from '../../../core/usage/order.js';
import type { ScriptCall } from './reserve-call.js';
import { advanceScript } from './advance-script.js';
import type { ChainScripts } from './chain-scripts.js';
import { cursorText, parseCursor } from './cursor.js';
import {
  accountName,
  counterName,
  kinds,
  ledgerNames,
  operationName,
  takenNames,
  type ChainKeys,
} from './keys.js';
import type { RedisLink } from '../../redis/link.js';
import { pages, readRecords } from './listing.js';
import { encodeReservation, keysOf, memberOf, namesOf, parseReservation, splitMember } from './record.js';
import { listOf, textOf, textsOf } from '../../redis/reply.js';
import { replies } from './script.js';

/** Endings of one call: this many occupy Redis for a few milliseconds. */
export const mostEndings = 250;

export type StepDeps = {
  readonly link: RedisLink;
  readonly chain: ChainKeys;
  readonly scripts: ChainScripts;
  readonly chainId: number;
  /** Room for records of the ledger, in bytes. */
  readonly ledgerBytes: number;
};

/** Expiry member, how it ends, the actual cost or the latest validUntil, or "", and the record for the ledger, if there is one. */
type Ending = readonly [member: string, how: 's' | 'r' | 'f', term: number | '', record?: string];
type Parts = Pick<FollowerStep, 'restored' | 'restoredRecords' | 'balances' | 'charges'> & {
  readonly endings: readonly Ending[];
};
/** A step that needs several calls, as Redis keeps it until it is done. */
type LongStep = {
  readonly expected: string;
  readonly next: string;
  readonly endings: readonly Ending[];
  readonly charges: readonly Charge[];
  /** Absent: the step is not kept, or was begun by a release that keeps none. */
  readonly isKept?: true;
};
const notTaken: StepResult = { isTaken: false };
const nothing = { restored: [], balances: [], charges: [], endings: [] };

/**
 * One step of the follower: one call if it is short, otherwise several. The first call takes amounts (restored
 * reservations, losses, balances), so that nothing is free too early, and stores a note of the whole step. Then come
 * the endings, piece by piece; the last call moves the cursor. If a step is interrupted, the next process continues it
 * from its note, so that it is taken as a whole or not at all. A process that has not carried out all of it gets the
 * answer that the step was not taken.
 */
export async function advance(deps: StepDeps, step: FollowerStep): Promise<StepResult> {
  const endings = endingsOf(step);
  const expected = cursorText(step.expected);
  const next = cursorText(step.next);
  const restoring = new Set(step.restored.map(({ key }) => memberOf(operationName(key), key.paymasterId)));
  // A reservation that is restored and ends again needs two calls.
  if (endings.length <= mostEndings && !endings.some(([member]) => restoring.has(member))) {
    const steps = step.takesBackAfter ?? '+';
    const reply = await call(deps, { ...step, endings }, { expected, next, steps });
    const [code] = reply;
    if (code === replies.unfinished) return resumedInstead(deps);
    if (code === replies.done) {
      const done: Done = { ended: [], orders: [] };
      note(done, endedOf(deps, endings, reply), reply);
      return taken(step, reply, done);
    }
    if (code !== replies.contested) return notTaken;
  }
  const id = randomUUID();
  const losses = step.charges.filter(({ amount }) => amount > 0);
  const long: LongStep = {
    expected,
    next,
    endings,
    charges: step.charges.filter(({ amount }) => amount <= 0),
    ...(step.takesBackAfter === undefined ? { isKept: true } : {}),
  };
  const { restored, restoredRecords = [], balances } = step;
  const begun = { ...nothing, restored, restoredRecords, balances, charges: losses };
  const begins = { id, body: JSON.stringify(long) };
  const reply = await call(deps, begun, { expected, begins, steps: step.takesBackAfter ?? '+' });
  const [code] = reply;
  if (code === replies.unfinished) return resumedInstead(deps);
  if (code !== replies.done) return notTaken;
  const done = await carryOn(deps, id, long);
  return done === undefined ? notTaken : taken(step, reply, done);
}

/** Reservations that calls of a step have ended, and where each of them comes among all that the store has done. */
type Done = { readonly ended: Reservation[]; readonly orders: number[] };

function note({ ended, orders }: Done, more: readonly Reservation[], reply: readonly unknown[]): void {
  ended.push(...more);
  for (const _ of more) orders.push(orderIn(reply));
}

function orderIn([, , sequence]: readonly unknown[]): number {
  return orderOf(Number(sequence), 0);
}

/** `first`: the reply of the call that restored. */
function taken({ ordered }: FollowerStep, first: readonly unknown[], { ended, orders }: Done): StepResult {
  if (!ordered) return { isTaken: true, ended };
  return { isTaken: true, ended, orders: { restored: orderIn(first), ended: orders } };
}

/** Every call of a step changes the sequence: a step that stands still for so long was interrupted. */
const interruptedMs = 250;

/**
 * The block up to which the chain is settled, after continuing a step that was interrupted. A step on which another process works is
 * waited for: all replicas read the cursor, and would take the step from each other for ever.
 */
export async function readCursor(deps: StepDeps): Promise<Cursor | undefined> {
  const { chain } = deps;
  let seen: string | undefined;
  for (;;) {
    const [cursor, id, body, sequence] = await deps.scripts.read([
      chain.cursor,
      chain.step,
      chain.stepBody,
      chain.head[2],
    ]);
    const [step, text] = [textOf(id), textOf(body)];
    if (step === undefined || text === undefined) return parseCursor(textOf(cursor) ?? '');
    const now = `${step} ${textOf(sequence)}`;
    if (seen === now) await takeOver(deps, step, text);
    else await pause(interruptedMs);
    seen = now;
  }
}

/**
 * Continues under a new id, so that a process that is still working on the step cannot go on: only one process knows
 * all that the step has ended.
 */
async function takeOver(deps: StepDeps, former: string, body: string): Promise<void> {
  const step = parseLongStep(body);
  const id = randomUUID();
  const { expected } = step;
  const [code] = await call(deps, nothing, { expected, stands: former, begins: { id, body }, steps: '' });
  if (code === replies.done) await carryOn(deps, id, step);
}

/** Another step was half done, so this step was planned from an outdated cursor. */
async function resumedInstead(deps: StepDeps): Promise<StepResult> {
  await readCursor(deps);
  return notTaken;
}

/** Undefined if another process has done it meanwhile. */
async function carryOn(deps: StepDeps, id: string, step: LongStep): Promise<Done | undefined> {
  const { expected, next, charges } = step;
  const steps = step.isKept === true ? '+' : '';
  const done: Done = { ended: [], orders: [] };
  let rest: readonly Ending[] = step.endings;
  while (rest.length > 0) {
    const left: Ending[] = [];
    for (const endings of pages(rest, mostEndings)) {
      const reply = await call(deps, { ...nothing, endings }, { expected, stands: id, steps });
      const [code, , , , contested] = reply;
      if (code !== replies.done) return undefined;
      note(done, endedOf(deps, endings, reply), reply);
      for (const index of listOf(contested)) left.push(endings[Number(index)]!);
    }
    rest = left;
  }
  const [code] = await call(deps, { ...nothing, charges }, { expected, stands: id, next, steps });
  return code === replies.done ? done : undefined;
}

/** The reservations that a call has ended, from their records at that moment. */
function endedOf(
  { chainId }: StepDeps,
  endings: readonly Ending[],
  [, , , , , ended]: readonly unknown[],
): readonly Reservation[] {
  const found = textsOf(ended);
  return found.flatMap((text, i) => {
    const ending = endings[Number(found[i - 1])];
    return i % 2 === 0 || text === undefined || ending === undefined
      ? []
      : [parseReservation(chainId, ending[0], text)];
  });
}

/** If a step names a reservation twice, its first mention decides. */
function endingsOf({ settled, released, forfeited }: FollowerStep): readonly Ending[] {
  const endings = new Map<string, Ending>();
  const add = (key: Reservation['key'], how: Ending[1], term: Ending[2], record: Ending[3]): void => {
    const member = memberOf(operationName(key), key.paymasterId);
    if (endings.has(member)) return;
    endings.set(member, record === undefined ? [member, how, term] : [member, how, term, record]);
  };
  for (const { key, actualCost, record } of settled) add(key, 's', actualCost ?? '', record);
  for (const { key, validUntil, record } of released) add(key, 'r', validUntil ?? '', record);
  for (const { key, record } of forfeited) add(key, 'f', '', record);
  return [...endings.values()];
}

type Terms = {
  readonly expected: string;
  readonly next?: string;
  readonly stands?: string;
  readonly begins?: { readonly id: string; readonly body: string };
  /** `+`: the step is kept. A number: the steps that ended after this block are forgotten. */
  readonly steps: '+' | '' | number;
};

async function call(deps: StepDeps, parts: Parts, terms: Terms): Promise<readonly unknown[]> {
  const { link, chain, scripts, ledgerBytes } = deps;
  const records = await readRecords(
    link,
    chain,
    parts.endings.map(([member]) => member),
  );
  const names = new Set<string>(takenNames);
  for (const [i, record] of records.entries())
    if (record !== undefined) for (const name of keysOf(record, parts.endings[i]![0])) names.add(name);
  for (const charge of parts.charges) addNames(names, { limits: [counterName(charge)] });
  for (const account of parts.balances) names.add(`${kinds.balance}${accountName(account)}`);
  const added = ledgerArgs(parts, ledgerBytes);
  if (added.length > 0) for (const name of ledgerNames.slice(0, 2)) names.add(name);
  const restored = parts.restored.map((reservation) => {
    const operation = operationName(reservation.key);
    const record = encodeReservation(reservation);
    addNames(names, namesOf(record));
    return { operation, paymasterId: reservation.key.paymasterId, record };
  });
  const operations = [
    ...parts.endings.map(([member]) => splitMember(member).operation),
    ...restored.map(({ operation }) => operation),
  ];
  const keys = [
    chain.cursor,
    chain.step,
    chain.stepBody,
    chain.expiries,
    chain.accounts,
    ...operations.map((operation) => `${chain.prefix}${kinds.operation}${operation}`),
    ...Array.from(names, (name) => `${chain.prefix}${name}`),
  ];
  const args = [
    terms.expected,
    terms.next ?? '',
    terms.stands ?? '',
    terms.begins?.id ?? '',
    terms.begins?.body ?? '',
    parts.endings.length,
    restored.length,
    parts.charges.length,
    parts.balances.length,
    terms.steps,
    ...parts.endings.flatMap(([member, how, term]) => [splitMember(member).paymasterId, member, how, term]),
    ...restored.flatMap(({ operation, paymasterId, record }) => [
      paymasterId,
      memberOf(operation, paymasterId),
      record,
    ]),
    ...parts.charges.flatMap((charge) => [counterName(charge), charge.amount, charge.until]),
    ...parts.balances.flatMap((one) => [accountName(one), `${one.balance}:${one.readAt}`]),
    ...added,
  ] satisfies ScriptCall['args'];
  return scripts.run(advanceScript, keys, args);
}

/** Arguments about records for the ledger; none without any. See ledger-lua.ts. */
function ledgerArgs({ endings, restoredRecords = [] }: Parts, bytes: number): ScriptCall['args'] {
  if (restoredRecords.length === 0 && endings.every(([, , , record]) => record === undefined)) return [];
  const restored = restoredRecords.flatMap(({ recordId, text }) => [recordId, text]);
  return [restoredRecords.length, bytes, ...restored, ...endings.map(([, , , record]) => record ?? '')];
}

type Names = Partial<ReturnType<typeof namesOf>>;

function addNames(names: Set<string>, { limits = [], holds = [], accounts = [] }: Names): void {
  for (const limit of limits) names.add(`${kinds.counter}${limit}`).add(`${kinds.used}${limit}`);
  for (const hold of holds) names.add(`${kinds.counter}${hold}`);
  for (const account of accounts) names.add(`${kinds.promised}${account}`).add(`${kinds.balance}${account}`);
}

/** Expects text that {@link advance} has written. */
function parseLongStep(text: string): LongStep {
  return JSON.parse(text) as LongStep;
}
