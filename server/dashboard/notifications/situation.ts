import { eachObject } from '../../../adapters/resources/pages.js';
import { turn } from '../../../adapters/timers.js';
import { paymasterIdOf } from '../../../core/config/ids.js';
import { isDomainError } from '../../../core/errors.js';
import { findCondition } from '../../../core/meta/conditions.js';
import { eventOfCheck } from '../../../core/notifications/events.js';
import type { Situation, Thing } from '../../../core/notifications/compare.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import { createLimited } from '../../../core/problems/limited.js';
import { problem, problemsOf, type Around, type Problem } from '../../../core/problems/problems.js';
import { renderProblem } from '../../../core/problems/render.js';
import type { EventName } from '../../../core/resources/notification.js';
import type { Paymaster } from '../../../core/resources/paymaster.js';
import { toAddressKey, zeroAddress } from '../../../core/units/address.js';
import { parseInstant, plusMs, type EpochMs } from '../../../core/units/time.js';
import { noCost } from '../../../core/usage/unit.js';
import type { Tools } from '../deps.js';
import { ownPaymaster, type ReadConfig } from '../ledger/own-paymaster.js';
import { problemsOfChains, type Whose } from '../manage/find-problems.js';

/** What is wrong with an organisation is read with these. */
export type Sources = Pick<Tools, 'resources' | 'ledger' | 'clock' | 'configs' | 'lastSeen' | 'usage'>;

const [minuteMs, dayMs] = [60_000, 86_400_000];
const mostPaymasters = 1_000;
const readAtOnce = 8;
const nearly = 0.8;
const expiringMs = 7 * dayMs;
const titleLength = 100;
/** Refusals are compared over so many minutes with the mean of the day before. */
const risingMinutes = 10;
const fewestRefusals = 20;
const manyTimes = 3;

/**
 * What is wrong with an organisation now, as events. Nothing of other organisations is read, and no contracts, whose ABIs are large. Throws UNAVAILABLE
 * while its objects cannot be read.
 */
export async function situationOf(sources: Sources, whose: Whose): Promise<Situation> {
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
    paymasters.set(paymasterIdOf(tenant, metadata.name), paymaster);
    if (organisation.spec.chains?.includes(spec.chainId) !== false)
      uses.set(spec.chainId, (uses.get(spec.chainId) ?? new Set()).add(spec.version));
    problemsOf(paymaster, around).forEach(addProblem);
    const serving = findCondition(status?.conditions, 'Serving');
    const subject = `paymasters/${metadata.name}`;
    if (serving?.status === 'False') add('paymaster.notServing', subject, spec.name, serving.message);
    for (const { name, expiresAt } of spec.keys ?? [])
      addExpiring(`${subject}/keys/${name}`, `key ${name} of ${spec.name}`, expiresAt);
  }
  for await (const policy of eachObject(resources, 'PaymasterPolicy', { namespace }))
    problemsOf(policy, around).forEach(addProblem);
  problemsOf(organisation, around).forEach(addProblem);
  for await (const each of problemsOfChains(sources, around, uses)) addProblem(each);
  for (const { name, expiresAt } of organisation.spec.tokens ?? [])
    addExpiring(`tokens/${name}`, `token ${name}`, expiresAt);
  for await (const { metadata, spec } of eachObject(resources, 'DashboardToken', { namespace }))
    addExpiring(`tokens/${metadata.name}`, `token ${metadata.name}`, spec.expiresAt);

  await ofDatabase('limit.nearly', async () => {
    for await (const { id, name, paymaster, percent } of nearlyFull(sources, whose, [...paymasters.keys()]))
      add('limit.nearly', `limits/${id}`, name, `${percent} % is used or promised (${paymaster}).`);
  });
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

type NearlyFull = { readonly id: string; readonly name: string; readonly percent: number };

/** Limits that all users share and that count; of a budget, which every paymaster has, one. */
async function* nearlyFull(
  sources: Sources,
  whose: Whose,
  ids: readonly string[],
): AsyncGenerator<NearlyFull & { readonly paymaster: string }> {
  const seen = new Set<string>();
  for (let next = 0; next < Math.min(ids.length, mostPaymasters); next += readAtOnce) {
    const some = ids.slice(next, Math.min(next + readAtOnce, mostPaymasters));
    for (const config of await Promise.all(some.map((id) => ownPaymaster(sources, whose, id)))) {
      if (config === undefined) continue;
      for (const limit of await fullOf(sources.usage, config, seen))
        yield { ...limit, paymaster: config.objectName };
      // The same thread may sign.
      await turn();
    }
  }
}

async function fullOf(
  usage: Sources['usage'],
  { chainId, limits }: ReadConfig,
  seen: Set<string>,
): Promise<readonly NearlyFull[]> {
  const shared = compileLimits(limits).filter(({ policyId, unit, perSender, shadow, threshold }) => {
    const id = `${policyId}/${unit}`;
    if (perSender || shadow === true || threshold === 0 || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  if (shared.length === 0) return [];
  const sender = toAddressKey(zeroAddress);
  const shares = limitShares(shared, { sender, cost: noCost, now: usage.now() });
  const counters = await usage.counters(chainId, shares);
  return shared.flatMap(({ policyId, unit, name, threshold }, index) => {
    const { used, reserved } = counters[index]!;
    const ratio = (used + reserved) / threshold;
    return ratio < nearly ? [] : [{ id: `${policyId}/${unit}`, name, percent: Math.floor(100 * ratio) }];
  });
}

async function risingRefusals({ ledger }: Sources, { tenant }: Whose, now: EpochMs) {
  if (ledger === undefined) return [];
  const to = (Math.ceil(now / minuteMs) * minuteMs) as EpochMs;
  const begin = plusMs(to, -risingMinutes * minuteMs);
  const refusedIn = async (from: EpochMs, until: EpochMs): Promise<ReadonlyMap<string, number>> => {
    const rows = await ledger(tenant).usage({
      organisation: tenant,
      paymasterId: undefined,
      groupBy: 'paymaster',
      from,
      to: until,
      step: 'month',
      limit: 2 * mostPaymasters,
    });
    const sums = new Map<string, number>();
    for (const { group = '', refused } of rows) sums.set(group, (sums.get(group) ?? 0) + refused);
    return sums;
  };
  const recently = await refusedIn(begin, to);
  const rising = [...recently].filter(([, recent]) => recent >= fewestRefusals);
  if (rising.length === 0) return [];
  const before = await refusedIn(plusMs(begin, -dayMs), begin);
  return rising.flatMap(([id, recent]) => {
    const usual = Math.round(((before.get(id) ?? 0) * risingMinutes * minuteMs) / dayMs);
    return recent >= manyTimes * usual ? [{ id, recent, usual }] : [];
  });
}
