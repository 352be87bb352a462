import { randomUUID } from 'node:crypto';
import type { NotificationClient } from '../../../adapters/notifications/notification-client.js';
import { systemTimers } from '../../../adapters/timers.js';
import type { Ambient } from '../../../core/ambient.js';
import { deriveNotificationId } from '../../../core/config/ids.js';
import { tenantOfOrganisation } from '../../../core/config/tenant.js';
import { isDomainError, unlessUnavailable } from '../../../core/errors.js';
import { findCondition } from '../../../core/meta/conditions.js';
import { afterPost, compare, type Situation, type Told } from '../../../core/notifications/compare.js';
import { composeMessage } from '../../../core/notifications/message.js';
import type { NotificationSpec } from '../../../core/resources/notification.js';
import type { Organisation } from '../../../core/resources/organisation.js';
import { isObject, parseJson } from '../../../core/schema/json-value.js';
import { plusMs, type EpochMs } from '../../../core/units/time.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { Whose } from '../manage/problems.js';
import { gatherSituation, type Sources } from './situation.js';

type Deps = Pick<Ambient, 'log' | 'metrics'> & {
  readonly sources: Sources;
  readonly texts: Pick<KeptTexts, 'putText' | 'addText' | 'getText'>;
  readonly client: Pick<NotificationClient, 'send'>;
  readonly everyMs: number;
};

const atOnce = 4;
const dayMs = 86_400_000;
/** A receiver that fails is tried again after 1, 2, 4, 8, 10, 10, … rounds. */
const maxWaitRounds = 10;

/**
 * Tells organisations what begins and what is resolved: compares what is wrong now with what each receiver was told. One process does
 * so, which the others follow when it ends. Its own memory is as good as the store while nobody else sends, so an outage of the
 * database is told too. Posts are sent before they are noted: twice rather than never.
 */
export function createNotificationSender(deps: Deps) {
  const { sources, client, log, metrics, everyMs } = deps;
  const states = createStates(deps.texts);
  const now = (): EpochMs => sources.usage.now();
  const sender = randomUUID();
  const sent = metrics.counter<'outcome'>({
    name: 'paymaster_notifications_total',
    help: 'Posts to the receivers of notifications, by outcome: delivered or failed.',
    labels: ['outcome'],
  });
  /** Of this process while it leads. `day`: when they were stored; 0: they are not. */
  const known = new Map<string, { readonly states: States; readonly day: number }>();
  const skipped = (error: unknown): void => log.warn('notifications could not be worked out', { error });
  let isLeading = false;
  let isStopped = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  async function leads(): Promise<boolean> {
    try {
      isLeading = await states.lead(sender, now(), 3 * everyMs);
    } catch (error) {
      // While the database is away nobody else begins to lead.
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    }
    if (!isLeading) known.clear();
    return isLeading;
  }

  async function round(): Promise<void> {
    const told = (await sources.resources.list('Organisation')).filter(isTold);
    if (told.length === 0 || !(await leads())) return;
    const tenants = new Set<string>(told.map(tenantOfOrganisation));
    for (const tenant of known.keys()) if (!tenants.has(tenant)) known.delete(tenant);
    const left = told.values();
    const work = async (): Promise<void> => {
      for (const organisation of left) {
        if (isStopped) return;
        await tellOrganisation(organisation).catch(skipped);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  async function tellOrganisation(organisation: Organisation): Promise<void> {
    const { namespace, notifications = [] } = organisation.spec;
    const whose = { organisation, namespace, tenant: tenantOfOrganisation(organisation) };
    const { tenant } = whose;
    const before = known.get(tenant) ?? { states: await states.read(tenant), day: 0 };
    const situation = await gatherSituation(sources, whose);
    const told = notifications.map(async (spec) => {
      const state = Object.hasOwn(before.states, spec.name) ? before.states[spec.name] : undefined;
      return [spec.name, await tellOne(whose, spec, state, situation)] as const;
    });
    const next: States = Object.fromEntries(await Promise.all(told));
    // Written again each day: what is kept ends after a month.
    const day = Math.floor(now() / dayMs);
    const isStored = day === before.day && JSON.stringify(next) === JSON.stringify(before.states);
    const isWritten =
      isStored || (await unlessUnavailable(states.write(tenant, next, now()).then(() => true)));
    known.set(tenant, { states: next, day: isWritten === true ? day : 0 });
  }

  async function tellOne(
    { tenant, organisation }: Whose,
    spec: NotificationSpec,
    { told: before, failing }: State = { told: {} },
    situation: Situation,
  ): Promise<State> {
    const at = now();
    if (failing !== undefined && at >= failing.at && at - failing.at < waitMs(failing.tries, everyMs))
      return { told: before, failing };
    const { name } = organisation.metadata;
    const fields = { organisation: name, notification: spec.name };
    const receiver = { id: deriveNotificationId(tenant, spec.name), organisation: tenant, spec };
    const { posts, told: begin } = compare(receiver.id, before, situation, at, spec.events);
    let told = begin;
    for (const post of isStopped ? [] : posts) {
      const { isDelivered, detail = '' } = await client.send(receiver, composeMessage(name, at, post));
      sent.with({ outcome: isDelivered ? 'delivered' : 'failed' }).inc();
      if (!isDelivered) {
        if (failing?.detail !== detail) log.warn('notification not delivered', { ...fields, detail });
        const since = failing?.since ?? at;
        // The others go the same way.
        return { told, failing: { since, detail, tries: (failing?.tries ?? 0) + 1, at } };
      }
      told = afterPost(told, post);
    }
    if (failing !== undefined) log.info('notification delivered again', fields);
    return { told };
  }

  function scheduleRound(): void {
    if (isStopped) return;
    cancel = systemTimers.after(everyMs, () => {
      running = round().catch(skipped).then(scheduleRound);
    });
  }

  return {
    start: scheduleRound,
    /** One round; for tests. */
    round,
    /** Resolves when nothing is sent. */
    async stop(): Promise<void> {
      isStopped = true;
      cancel?.();
      await running;
    },
  };
}

/** Not where another Organisation has its namespace. */
function isTold({ spec, status }: Organisation): boolean {
  const accepted = findCondition(status?.conditions, 'Accepted');
  return spec.notifications !== undefined && accepted?.reason !== 'NameConflict';
}

function waitMs(tries: number, everyMs: number): number {
  // A round begins a little earlier or later.
  return (Math.min(2 ** (tries - 1), maxWaitRounds) - 0.5) * everyMs;
}

/** Of one receiver. `failing`: since when it gets nothing, and why. */
export type State = {
  readonly told: Told;
  readonly failing?: {
    readonly since: EpochMs;
    readonly detail: string;
    readonly tries: number;
    readonly at: EpochMs;
  };
};
/** By the name of the notification. */
export type States = Readonly<Record<string, State>>;

type Texts = Pick<KeptTexts, 'putText' | 'addText' | 'getText'>;
const keptMs = 30 * 86_400_000;
const lead = 'notifications are sent by';

/** What the receivers of organisations were told, and who tells them, in the texts that all replicas read. No paymasterId has a space. */
export function createStates(texts: Texts) {
  const stateName = (tenant: string): string => `told ${tenant}`;
  return {
    async read(tenant: string): Promise<States> {
      const stored = parseJson((await texts.getText(stateName(tenant))) ?? '{}');
      return isObject(stored) ? (stored as States) : {};
    },
    write: (tenant: string, states: States, now: EpochMs): Promise<void> =>
      texts.putText(stateName(tenant), JSON.stringify(states), plusMs(now, keptMs)),
    /** Whether this process is the one that sends, for the next `forMs`. */
    async lead(process: string, now: EpochMs, forMs: number): Promise<boolean> {
      const until = plusMs(now, forMs);
      if (await texts.addText(lead, process, until, { prefix: lead, most: 1 })) return true;
      if ((await texts.getText(lead)) !== process) return false;
      await texts.putText(lead, process, until);
      return true;
    },
  };
}
