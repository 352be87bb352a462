import { afterEach, describe, expect, test } from '@jest/globals';
import type { NotificationClient } from '../../../adapters/notifications/notification-client.js';
import { createStops } from '../../../adapters/process/stops.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { tenantOfOrganisation } from '../../../core/config/tenant.js';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { Message } from '../../../core/notifications/message.js';
import type { LimitConfig } from '../../../core/policy/spending-limit/schema.js';
import type { AnyResource } from '../../../core/resources/kinds.js';
import type { OrganisationSpec } from '../../../core/resources/organisation.js';
import { createNotificationSender, createStates } from '../../../server/dashboard/notifications/sender.js';
import type { Sources } from '../../../server/dashboard/notifications/situation.js';
import { aClock } from '../../adapters/usage/clock.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';
import { aLimitConfig, aPaymasterConfig } from '../../build/configs.js';
import { aChain, anOrganisation, aPaymaster } from '../../build/resources.js';

const stops = createStops();
afterEach(() => stops.run());

const minuteMs = 60_000;
const away = (): never => {
  throw new DomainError('UNAVAILABLE', 'the database is away');
};
const receivers = (...names: readonly string[]): NonNullable<OrganisationSpec['notifications']> =>
  names.map((name) => ({ name, url: `https://${name}.example.org/` }));

/** An installation whose objects, use of limits and outages a test decides. Senders of it have one store. */
function anInstallation(organisation = anOrganisation({ notifications: receivers('ops') })) {
  const tenant = tenantOfOrganisation(organisation);
  const clock = aClock();
  const directory = aDirectory();
  stops.add(() => directory.remove());
  const store = createSqliteUsageStore({
    path: `${directory.path}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  stops.add(() => store.stop());
  const state = {
    objects: [] as readonly AnyResource[],
    /** By paymasterId. */
    configs: new Map<string, { readonly objectName: string; readonly limits: readonly LimitConfig[] }>(),
    used: 0,
    isAway: false,
    /** What receivers got, by the sender; those in `dead` get nothing. */
    got: [] as { readonly by: string; readonly receiver: string; readonly message: Message }[],
    dead: new Set<string>(),
  };
  const ofKind = (kind: string) => state.objects.filter((each) => each.kind === kind);
  const sources = {
    clock,
    resources: {
      list: async (kind: string) => (kind === 'Organisation' ? [organisation] : ofKind(kind)),
      page: async (kind: string) => ({ items: ofKind(kind) }),
    },
    configs: {
      getPaymaster: async (paymasterId: string) => ({
        config: aPaymasterConfig({
          paymasterId,
          ...state.configs.get(paymasterId),
        }),
      }),
    },
    lastSeen: { of: (_key: string, ask: () => Promise<unknown>) => ask() },
    usage: {
      now: () => clock.now(),
      counters: async (_chainId: number, asked: readonly unknown[]) =>
        state.isAway ? away() : asked.map(() => ({ used: state.used, reserved: 0 })),
    },
  } as unknown as Sources;
  const { texts } = store;
  const unlessAway = <Name extends 'getText' | 'putText' | 'addText'>(name: Name) =>
    ((...args: never[]) =>
      state.isAway ? away() : Reflect.apply(texts[name], texts, args)) as (typeof texts)[Name];
  const aSender = (by = 'a', client?: Pick<NotificationClient, 'send'>) => {
    const sender = createNotificationSender({
      sources,
      texts: {
        getText: async (...args) => unlessAway('getText')(...args),
        putText: async (...args) => unlessAway('putText')(...args),
        addText: async (...args) => unlessAway('addText')(...args),
      },
      client: client ?? {
        send: async ({ spec: { name: receiver } }, message) => {
          if (state.dead.has(receiver)) return { isDelivered: false, detail: 'away' };
          state.got.push({ by, receiver, message });
          return { isDelivered: true };
        },
      },
      everyMs: minuteMs,
      log: silentLogger,
      metrics: noMetrics,
    });
    return sender;
  };
  /** So many paymasters with so many limits each. */
  const withLimits = (paymasters: number, each: number): void => {
    state.objects = Array.from({ length: paymasters }, (_, i) => aPaymaster({ meta: { name: `p${i}` } }));
    for (const { metadata } of state.objects)
      state.configs.set(derivePaymasterId(tenant, metadata.name), {
        objectName: metadata.name,
        limits: Array.from({ length: each }, (_, i) =>
          aLimitConfig({ policyId: `${metadata.name}-${i}`, threshold: '100' }),
        ),
      });
  };
  const types = (): readonly string[] => state.got.map(({ message }) => message.type);
  return { state, clock, aSender, withLimits, types, texts, tenant };
}

describe('a tenant with 10,000 limits that flap', () => {
  test('makes two posts an hour, and what is kept of him stays small', async () => {
    const { state, clock, aSender, withLimits, types, texts, tenant } = anInstallation();
    withLimits(500, 20);
    const sender = aSender();
    for (let minute = 0; minute < 8; minute++) {
      state.used = minute % 2 === 0 ? 90 : 0;
      await sender.round();
      clock.advance(minuteMs);
    }
    expect(types()).toEqual(['limit.nearly', 'limit.nearly.resolved']);
    expect(state.got[0]?.message.data).toMatchObject({ count: 10_000 });
    expect(state.got[0]?.message.data.items).toHaveLength(10);
    expect((await texts.getText(`told ${tenant}`))?.length).toBeLessThan(10_000);
  });
});

describe('two processes', () => {
  test('that send at once tell everything at least once, and nothing a third time', async () => {
    const { state, clock, aSender, withLimits } = anInstallation();
    withLimits(1, 1);
    state.used = 90;
    const senders = [aSender('a'), aSender('b')];
    for (let minute = 0; minute < 5; minute++) {
      await Promise.all(senders.map(({ round }) => round()));
      clock.advance(minuteMs);
    }
    expect(state.got).toHaveLength(1);
  });

  test('of which one was held up in a round give the same news the same id', async () => {
    const { state, clock, aSender, withLimits } = anInstallation();
    withLimits(1, 1);
    state.used = 90;
    const [sending, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = aSender('slow', {
      send: async ({ spec }, message) => {
        sending.resolve();
        await gate.promise;
        state.got.push({ by: 'slow', receiver: spec.name, message });
        return { isDelivered: true };
      },
    });
    const held = slow.round();
    await sending.promise;
    clock.advance(4 * minuteMs);
    const next = aSender('next');
    await next.round();
    gate.resolve();
    await held;
    const ids = state.got.map(({ message }) => message.id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    // The one that was held up leads no longer.
    clock.advance(minuteMs);
    await Promise.all([slow.round(), next.round()]);
    expect(state.got).toHaveLength(2);
  });
});

describe('while the database is away', () => {
  test('that is told, once, and nothing counts as resolved because nobody can read it', async () => {
    const { state, clock, aSender, withLimits, types } = anInstallation();
    withLimits(1, 1);
    state.used = 90;
    const sender = aSender();
    await sender.round();
    state.isAway = true;
    for (let minute = 0; minute < 5; minute++) {
      clock.advance(minuteMs);
      await sender.round();
    }
    expect(types()).toEqual(['limit.nearly', 'paymaster.notServing']);
    state.isAway = false;
    clock.advance(minuteMs);
    await sender.round();
    expect(types()).toEqual(['limit.nearly', 'paymaster.notServing', 'paymaster.notServing.resolved']);
    // It was written down.
    clock.advance(4 * minuteMs);
    await aSender('b').round();
    expect(types()).toHaveLength(3);
  });

  test('a process that begins then tells nothing, since nobody knows what was told', async () => {
    const { state, aSender, withLimits } = anInstallation();
    withLimits(1, 1);
    state.isAway = true;
    await aSender().round();
    expect(state.got).toEqual([]);
  });
});

describe('a receiver that fails', () => {
  test('holds back no other, is tried ever less often, and gets what it missed', async () => {
    const { state, clock, aSender, withLimits, texts, tenant } = anInstallation(
      anOrganisation({ notifications: receivers('constructor', 'dead') }),
    );
    withLimits(1, 1);
    state.used = 90;
    state.dead.add('dead');
    const sender = aSender();
    for (let minute = 0; minute < 20; minute++) {
      await sender.round();
      clock.advance(minuteMs);
    }
    expect(state.got.map(({ receiver }) => receiver)).toEqual(['constructor']);
    const { dead } = await createStates(texts).read(tenant);
    // After 0, 1, 3, 7 and 15 minutes.
    expect(dead?.failing).toMatchObject({ tries: 5, detail: 'away' });
    state.dead.clear();
    clock.advance(10 * minuteMs);
    await sender.round();
    expect(state.got.map(({ receiver }) => receiver)).toEqual(['constructor', 'dead']);
  });

  test('is tried again after a clock that was ahead was set back', async () => {
    const { state, clock, aSender, withLimits } = anInstallation();
    withLimits(1, 1);
    state.used = 90;
    state.dead.add('ops');
    const sender = aSender();
    await sender.round();
    state.dead.clear();
    clock.advance(-7 * 24 * 60 * minuteMs);
    await sender.round();
    expect(state.got).toHaveLength(1);
  });
});

test('an organisation that wants two events gets no others', async () => {
  const events = ['key.expiring', 'price.jumped'] as const;
  const organisation = anOrganisation({
    notifications: [{ name: 'ops', url: 'https://ops.example.org/', events }],
  });
  const { state, clock, aSender, withLimits, types } = anInstallation(organisation);
  withLimits(1, 1);
  state.used = 90;
  const soon = new Date(clock.now() + 86_400_000).toISOString();
  state.objects = [aPaymaster({ meta: { name: 'p0' }, keys: [{ name: 'partner', expiresAt: soon }] })];
  await aSender().round();
  expect(types()).toEqual(['key.expiring']);
  // A key that has ended is still one that needs somebody.
  clock.advance(2 * 86_400_000);
  await aSender('b').round();
  expect(types()).toEqual(['key.expiring']);
});

test('a problem of a chain goes only to organisations that use it, without the names of nodes and hosts', async () => {
  const { state, aSender, types } = anInstallation();
  const fallen = {
    type: 'PriceUsable',
    status: 'False',
    reason: 'Jump',
    message: 'https://hunter2.example.org fell',
    lastTransitionTime: '2026-03-01T12:00:00Z',
    observedGeneration: 1,
  } as const;
  const used = { ...aChain(), status: { conditions: [fallen] } };
  const other = { ...aChain({ meta: { name: 'other' }, chainId: 1 }), status: { conditions: [fallen] } };
  state.objects = [aPaymaster({ meta: { name: 'p0' } }), used, other];
  await aSender().round();
  expect(types()).toEqual(['price.jumped']);
  const { message } = state.got[0]!;
  expect(message.data.items.map(({ subject }) => subject)).toEqual([`chains/${used.metadata.name}`]);
  expect(JSON.stringify(message)).not.toContain('hunter2');
});
