import { expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import type { ObjectName } from '../../../core/ledger/object-names.js';
import { createServedNames } from '../../../server/ledger/served-names.js';
import { aLimitConfig, aPaymasterConfig } from '../../build/configs.js';
import { silentLogger } from '../../../core/log.js';

// What a server of the rpc role has served keeps its name, whoever deletes it.

function world() {
  const stored = new Map<string, ObjectName>();
  const state = { isAway: false };
  const keep = async (names: readonly ObjectName[]): Promise<void> => {
    if (state.isAway) throw new DomainError('UNAVAILABLE', 'the database is away');
    for (const name of names) stored.set(`${name.organisation} ${name.kind} ${name.id}`, name);
  };
  const served = createServedNames({ names: { keep }, log: silentLogger });
  return { served, state, shown: () => [...stored].map(([key, { shown }]) => `${key}: ${shown}`) };
}

test('a paymaster and its policies, under the tenant that has the namespace', async () => {
  const { served, shown } = world();
  const limits = [aLimitConfig({ policyId: 'l1', name: 'ten a day' })];
  served.note(
    aPaymasterConfig({ paymasterId: 'p1', name: 'Shop', namespace: 'acme', tenant: 'acme@2', limits }),
  );
  await served.stop();
  expect(shown()).toEqual(['acme@2 Paymaster p1: Shop', 'acme@2 PaymasterPolicy l1: ten a day']);
});

test('names wait while the database is away, and the last one counts', async () => {
  const { served, state, shown } = world();
  state.isAway = true;
  served.note(aPaymasterConfig({ paymasterId: 'p1', name: 'Shop', namespace: 'acme' }));
  served.note(aPaymasterConfig({ paymasterId: 'p2', name: 'Club', namespace: 'acme' }));
  await served.stop();
  expect(shown()).toEqual([]);
  state.isAway = false;
  served.note(aPaymasterConfig({ paymasterId: 'p1', name: 'Renamed', namespace: 'acme' }));
  await served.stop();
  expect(shown().toSorted()).toEqual(['acme Paymaster p1: Renamed', 'acme Paymaster p2: Club']);
});
