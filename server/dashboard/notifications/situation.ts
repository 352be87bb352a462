import { eachObject } from '../../../adapters/resources/pages.js';
import { turn } from '../../../adapters/timers.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { isDomainError } from '../../../core/errors.js';
import { findCondition } from '../../../core/meta/conditions.js';
import type { Situation, Thing } from '../../../core/notifications/compare.js';
import { eventOfCheck } from '../../../core/notifications/events.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import {
  createLimited,
  problem,
  listProblems,
  type Around,
  type Problem,
} from '../../../core/problems/problems.js';
import { renderProblem } from '../../../core/problems/render.js';
import type { EventName } from '../../../core/resources/notification.js';
import type { Paymaster } from '../../../core/resources/paymaster.js';
import { toAddressKey, zeroAddress } from '../../../core/units/address.js';
import { parseInstant, plusMs, type EpochMs } from '../../../core/units/time.js';
import { noCost } from '../../../core/usage/unit.js';
import type { Tools } from '../deps.js';
import { ownPaymaster } from '../ledger/own-paymaster.js';
import { problemsOfChains, type Whose } from '../manage/problems.js';

/** What is wrong with an organisation is read with these. */
export type Sources = Pick<Tools, 'resources' | 'ledger' | 'clock' | 'configs' | 'lastSeen' | 'usage'>;

const [minuteMs, dayMs] = [60_000, 86_400_000];
const maxPaymasters = 1_000;
const nearly = 0.8;
const expiringMs = 7 * dayMs;
const titleLength = 100;
const nobody = toAddressKey(zeroAddress);
/** Refusals are compared over so many minutes with the mean of the day before. */
const risingMinutes = 10;
const minRefusals = 20;
const manyTimes = 3;

/**
 * What is wrong with an organisation now, as events. Nothing of other organisations is read, and no contracts, whose ABIs are large.
 * Throws UNAVAILABLE while its objects cannot be read.
 */
export async function gatherSituation(sources: Sources, whose: Whose): Promise<Situation> {
  const { resources, clock } = sources;
  const { namespace, tenant, organisation } = whose;
  const now = clock.now();
  const uses = new Map<number, Set<string>>();
  const around: Around = { now, limited: createLimited(), uses };
  const things: Thing[] = [];
  const unknown = new Set<EventName>();
  const add = (event: EventName, subject: string, title: string, message: string): void => {
    things.push({ event, subject, title: title.slice(0, titleLength), message });
  };
  const addProblem = (found: Problem): void => {
    const event = eventOfCheck(found.check);
    const { noun, name, displayName, message, remedy } = renderProblem(found);
    if (event !== undefined) add(event, `${noun}/${name}`, displayName, `${message} ${remedy}`);
  };

  const paymasters = new Map<string, Paymaster>();
  for await (const paymaster of eachObject(resources, 'Paymaster', { namespace })) {
    const { metadata, spec, status } = paymaster;
    paymasters.set(derivePaymasterId(tenant, metadata.name), paymaster);
    if (organisation.spec.chains?.includes(spec.chainId) !== false)
      uses.set(spec.chainId, (uses.get(spec.chainId) ?? new Set()).add(spec.version));
    listProblems(paymaster, around).forEach(addProblem);
    const serving = findCondition(status?.conditions, 'Serving');
    const subject = `paymasters/${metadata.name}`;
    if (serving?.status === 'False') add('paymaster.notServing', subject, spec.name, serving.message);
    for (const { name, expiresAt } of spec.keys ?? [])
      addExpiring(`${subject}/keys/${name}`, `key ${name} of ${spec.name}`, expiresAt);
  }
  for await (const policy of eachObject(resources, 'PaymasterPolicy', { namespace }))
    listProblems(policy, around).forEach(addProblem);
  listProblems(organisation, around).forEach(addProblem);
  for await (const each of problemsOfChains(sources, around, uses)) addProblem(each);
  for (const { name, expiresAt } of organisation.spec.tokens ?? [])
    addExpiring(`tokens/${name}`, `token ${name}`, expiresAt);
  for await (const { metadata, spec } of eachObject(resources, 'DashboardToken', { namespace }))
    addExpiring(`tokens/${metadata.name}`, `token ${metadata.name}`, spec.expiresAt);

  await ofDatabase('limit.nearly', () =>
    addNearlyFull(sources, whose, [...paymasters.keys()], (id, name, percent, paymaster) =>
      add('limit.nearly', `limits/${id}`, name, `${percent} % is used or promised (${paymaster}).`),
    ),
  );
  await ofDatabase('refusals.rising', async () => {
    for (const { id, recent, usual } of await risingRefusals(sources, whose, now)) {
      const paymaster = paymasters.get(id);
      if (paymaster === undefined) continue;
      const message = `${recent} requests were refused in ${risingMinutes} minutes; usual are ${usual}.`;
      add('refusals.rising', `paymasters/${paymaster.metadata.name}`, paymaster.spec.name, message);
    }
  });
  return { things, unknown };

  function addExpiring(subject: string, title: string, expiresAt: string | undefined): void {
    const until = expiresAt === undefined ? undefined : parseInstant(expiresAt);
    if (until !== undefined && until < plusMs(now, expiringMs))
      add('key.expiring', subject, title, `It ${until <= now ? 'ended' : 'ends'} at ${expiresAt}.`);
  }

  async function ofDatabase(event: EventName, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      unknown.add(event);
      addProblem(
        problem('database-away', { kind: 'Installation', name: 'database', displayName: 'database' }),
      );
    }
  }
}

/** Calls `add` for limits that all users share and that count; of a budget, which every paymaster has, once. */
async function addNearlyFull(
  { usage, ...stores }: Sources,
  whose: Whose,
  ids: readonly string[],
  add: (id: string, name: string, percent: number, paymaster: string) => void,
): Promise<void> {
  const seen = new Set<string>();
  for (const id of ids.slice(0, maxPaymasters)) {
    const { chainId, limits = [], objectName = '' } = (await ownPaymaster(stores, whose, id)) ?? {};
    const shared = compileLimits(limits).filter(
      ({ policyId, unit, perSender, shadow, threshold }) =>
        !perSender && shadow !== true && threshold > 0 && !seen.has(`${policyId}/${unit}`),
    );
    // The same thread may sign.
    await turn();
    if (chainId === undefined || shared.length === 0) continue;
    const shares = limitShares(shared, { sender: nobody, cost: noCost, now: usage.now() });
    const counters = await usage.counters(chainId, shares);
    for (const [index, { policyId, unit, name, threshold }] of shared.entries()) {
      const { used, reserved } = counters[index]!;
      const ratio = (used + reserved) / threshold;
      if (ratio >= nearly) add(`${policyId}/${unit}`, name, Math.floor(100 * ratio), objectName);
      seen.add(`${policyId}/${unit}`);
    }
  }
}

/** Of each paymaster that refuses far more than on the day before. */
async function risingRefusals({ ledger }: Sources, { tenant }: Whose, now: EpochMs) {
  const to = (Math.ceil(now / minuteMs) * minuteMs) as EpochMs;
  const begin = plusMs(to, -risingMinutes * minuteMs);
  const shared = {
    organisation: tenant,
    paymasterId: undefined,
    groupBy: 'paymaster',
    step: 'month',
  } as const;
  const refusedIn = async (from: EpochMs, until: EpochMs): Promise<ReadonlyMap<string, number>> => {
    const rows =
      (await ledger?.(tenant).usage({ ...shared, from, to: until, limit: 2 * maxPaymasters })) ?? [];
    const sums = new Map<string, number>();
    for (const { group = '', refused } of rows) sums.set(group, (sums.get(group) ?? 0) + refused);
    return sums;
  };
  const rising = [...(await refusedIn(begin, to))].filter(([, recent]) => recent >= minRefusals);
  if (rising.length === 0) return [];
  const before = await refusedIn(plusMs(begin, -dayMs), begin);
  return rising
    .map(([id, recent]) => {
      const usual = Math.round(((before.get(id) ?? 0) * risingMinutes * minuteMs) / dayMs);
      return { id, recent, usual };
    })
    .filter(({ recent, usual }) => recent >= manyTimes * usual);
}
