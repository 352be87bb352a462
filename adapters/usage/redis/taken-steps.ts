import { stepsTo } from '../../../core/usage/taken-step.js';
import type { Charge, EndedReservation, TakenStep } from '../../../core/usage/usage-store.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { textOf, textsOf } from '../../redis/reply.js';
import { readCursor, type StepDeps } from './advance.js';
import { parseCursor } from './cursor.js';
import { parseCounterName } from './keys.js';
import { pages } from './listing.js';
import { parseReservation } from './record.js';

/** Entries whose parts are read together. */
const perPage = 8;

/**
 * The steps that lead to the cursor; see taken-steps-lua.ts for their form. Read page by page, and once more if a step was taken
 * meanwhile.
 */
export async function readTakenSteps(deps: StepDeps): Promise<readonly TakenStep[]> {
  for (;;) {
    const cursor = await readCursor(deps);
    const entries = await readEntries(deps);
    const calls: Call[] = [];
    for (const page of pages(entries, perPage))
      calls.push(...(await Promise.all(page.map((entry) => readCall(deps, entry)))));
    if ((await readEntries(deps)).join() === entries.join())
      return stepsTo(cursor, joinedSteps(deps.chainId, calls));
  }
}

type Call = { readonly from: string; readonly next: string; readonly parts: readonly Part[] };

async function readEntries({ link, chain }: StepDeps): Promise<readonly string[]> {
  const entries = textsOf(await link.read('zrangebyscore', [chain.taken[0], '-inf', '+inf']));
  return entries.filter((entry) => entry !== undefined);
}

async function readCall({ link, chain }: StepDeps, entry: string): Promise<Call> {
  const [number = '', count, from = '', next = ''] = entry.split(' ');
  const text = count === '0' ? undefined : textOf(await link.read('hget', [chain.taken[1], number]));
  return { from, next, parts: text === undefined ? [] : (JSON.parse(text) as readonly Part[]) };
}

/** Joins the calls of each step. */
function joinedSteps(chainId: number, calls: readonly Call[]): readonly TakenStep[] {
  const steps: TakenStep[] = [];
  let begun: Call = { from: '', next: '', parts: [] };
  for (const { from, next, parts } of calls) {
    // A release that keeps no steps has finished the step that was begun, if its cursor is another one.
    begun = { from, next, parts: from === begun.from ? [...begun.parts, ...parts] : parts };
    const cursor = parseCursor(next);
    if (cursor === undefined) continue;
    steps.push({
      from: parseCursor(from),
      next: cursor,
      ended: begun.parts.flatMap((part) => (part[0] === 'c' ? [] : [parseEnded(chainId, part)])),
      charges: begun.parts.flatMap((part) => (part[0] === 'c' ? [parseCharge(part)] : [])),
    });
    begun = { from: next, next: '', parts: [] };
  }
  return steps;
}

type EndedPart = readonly [how: 's' | 'r' | 'f', member: string, cost: string, record: string];
type ChargePart = readonly [kind: 'c', counter: string, amount: string, until: string];
type Part = EndedPart | ChargePart;

const ways = { s: 'settled', r: 'released', f: 'forfeited' } as const;

function parseEnded(chainId: number, [how, member, cost, record]: EndedPart): EndedReservation {
  return {
    reservation: parseReservation(chainId, member, record),
    how: ways[how],
    actualCost: how === 's' && cost !== '' ? gwei(Number(cost)) : undefined,
  };
}

function parseCharge([, counter, amount, until]: ChargePart): Charge {
  return { ...parseCounterName(counter), amount: Number(amount), until: Number(until) as EpochMs };
}
