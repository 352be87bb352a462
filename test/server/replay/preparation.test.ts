import { afterEach, expect, test } from '@jest/globals';
import { paymasterIdOf } from '../../../core/config/ids.js';
import { silentLogger } from '../../../core/log.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { createMemoryRegister } from '../../../server/replay/memory-register.js';
import { proposedConfig, type ProposalReading } from '../../../server/replay/proposal.js';
import { ProposalReader } from '../../../server/replay/proposal-reader.js';
import { compileProposed } from '../../../server/replay/proposed-config.js';
import type { ReplayConfig } from '../../../server/replay/replayer.js';
import { createReplays, type ReplayAsk } from '../../../server/replay/replays.js';
import { aChainConfig, aPaymasterConfig, someChainId, someNow } from '../../build/configs.js';
import { anOrganisation, aPaymaster, aPolicy, aSmartContract } from '../../build/resources.js';
import { createMemoryLedger } from '../../fakes/memory-ledger.js';
import { holdsOf } from '../../support/loop-holds.js';

// Before a replay runs, the proposed objects are read, and compiled together with all that the paymaster has already.

const replays = createReplays({
  ledger: createMemoryLedger(),
  register: createMemoryRegister(systemClock),
  clock: systemClock,
  log: silentLogger,
});
const stops: AbortController[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop.abort()));

const range = { from: someNow, to: (someNow + 60_000) as EpochMs };
const nothing = async (): Promise<ReplayConfig> => ({ paymasters: [], chains: [] });
const start = (organisation: string, more: Partial<ReplayAsk> = {}) =>
  replays.start({ organisation, ...range, configOf: nothing, ...more });

/** Prepares until it is cancelled. */
function blocked(organisation: string): { readonly started: Promise<unknown>; leave(): void } {
  const stop = new AbortController();
  stops.push(stop);
  const started = start(organisation, { configOf: () => new Promise(() => {}), gone: stop.signal });
  started.catch(() => {});
  return { started, leave: () => stop.abort() };
}

test('one is prepared or runs for each organisation and two in all; more are told when to try again', async () => {
  const first = blocked('acme');
  await expect(start('acme')).rejects.toMatchObject({
    code: 'REPLAYS_BUSY',
    details: { retryAfterSeconds: 5 },
  });
  blocked('globex');
  await expect(start('other')).rejects.toMatchObject({
    code: 'REPLAYS_BUSY',
    details: { retryAfterSeconds: 30 },
  });
  first.leave();
  await expect(first.started).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  const { follow } = await start('other');
  for await (const { state } of follow(new AbortController().signal))
    if (state !== 'running') expect(state).toBe('done');
});

test('a proposal for a paymaster with a hundred ABIs of 190 kB is compiled off the thread that serves', async () => {
  const shop = aPaymaster({ chainId: someChainId });
  const contracts = Array.from({ length: 100 }, (_, index) =>
    aSmartContract({
      meta: { name: `c${index}` },
      name: `C${index}`,
      address: `0x${(index + 1).toString(16).padStart(40, '0')}`,
      abi: abiOf(index),
      whitelistedMethods: [`m${index}_0`],
    }),
  );
  const objects: Readonly<Record<string, readonly unknown[]>> = {
    Paymaster: [shop],
    SmartContract: contracts,
  };
  const resources = {
    list: async (kind: string) => objects[kind] ?? [],
    page: async (kind: string) => ({ items: objects[kind] ?? [], next: undefined }),
    get: async () => undefined,
  } as unknown as Pick<ResourceStore, 'get' | 'list' | 'page'>;
  const paymasterId = paymasterIdOf('acme', 'shop');
  const stored = { config: aPaymasterConfig({ paymasterId }), hash: '' };
  const configs = {
    getLatest: async () => stored,
    getPaymaster: async () => stored,
    getChain: async () => ({ config: aChainConfig(), hash: '' }),
    getList: async () => undefined,
  };
  const { apiVersion, kind, metadata, spec } = aPolicy();
  const proposal = {
    organisation: anOrganisation(),
    namespace: 'acme',
    tenant: 'acme' as const,
    resources: [{ apiVersion, kind, metadata: { name: metadata.name, namespace: 'acme' }, spec }],
    now: someNow,
    from: someNow,
  };
  const compiled = (reading: ProposalReading) =>
    proposedConfig(reading, { resources, configs, webhookUrls: {}, quotas: {} }, proposal);

  const reader = new ProposalReader();
  let here: ReplayConfig | undefined;
  const control = await holdsOf(async () => {
    here = await compiled({
      read: async (...given) => reader.read(...given),
      present: async (given) => reader.present(given),
      validate: async (now) => reader.validate(now),
      compile: async (...given) => compileProposed(reader.resources, ...given),
    });
  });
  let found: ReplayConfig | undefined;
  const { longestMs } = await holdsOf(async () => {
    const { follow } = await start('acme', {
      configOf: async (reading) => (found = await compiled(reading)),
    });
    for await (const _ of follow(new AbortController().signal));
  });
  expect(found).toMatchObject({ paymasters: [{ contracts: { length: 100 }, limits: { length: 1 } }] });
  expect(found!.paymasters[0]!.contracts).toEqual(here!.paymasters[0]!.contracts);
  expect(longestMs).toBeLessThan(control.longestMs / 5);
}, 120_000);

function abiOf(seed: number): string {
  const entries: string[] = [];
  for (let length = 0; length < 190_000; length += entries.at(-1)!.length + 1)
    entries.push(JSON.stringify({ name: `m${seed}_${entries.length}`, inputs: [{ type: 'address' }] }));
  return `[${entries.join(',')}]`;
}
