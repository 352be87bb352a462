import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Change, ChangeLog } from '../../core/ledger/change.js';
import { DomainError } from '../../core/errors.js';
import { openSqliteLedger, type WrittenLedger } from '../adapters/store/ledger/written.js';
import { aPaymaster } from '../build/resources.js';
import { startWorld, type World } from './world.js';

// What is not written by REST is recorded by the operator, with the field manager.

let ledger: WrittenLedger;
let world: World;
let isAway = false;
/** Name of an object whose record fails, whatever is tried. */
let poison: string | undefined;
beforeEach(async () => {
  isAway = false;
  poison = undefined;
  ledger = await openSqliteLedger();
  world = await startWorld();
  await world.restart(deps());
});
afterEach(async () => {
  await world.close();
  await ledger.stop();
});

const deps = () => {
  const stored = ledger.changes!;
  const log: ChangeLog = {
    ...stored,
    record: async (write) => {
      if (isAway) throw new DomainError('UNAVAILABLE', 'the database is away');
      if (write.object.name === poison) throw new Error('a text that no table takes');
      return stored.record(write);
    },
  };
  return { changes: { log, resources: world.resources } };
};

async function changes(): Promise<readonly Change[]> {
  const from = Number(0) as Change['at'];
  const to = (world.time.clock.now() + 86_400_000) as Change['at'];
  return (await ledger.changes!.list({ organisation: 'acme', from, to, limit: 100 })).changes;
}
const until = (what: string, count: number): Promise<void> =>
  world.until(what, async () => (await changes()).length === count);

test('an object of a manifest, its change and its end are recorded, each once', async () => {
  await world.apply(aPaymaster());
  await until('it was recorded', 1);
  await world.apply(aPaymaster({ keyGeneration: 2 }));
  await until('its change was recorded', 2);
  await world.remove('Paymaster', 'shop');
  await until('its end was recorded', 3);
  await world.settle();
  expect((await changes()).map(({ action, author, fields }) => [action, author.name, fields.length])).toEqual(
    [
      ['deleted', undefined, 5],
      ['changed', 'manifests', 1],
      ['created', 'manifests', 4],
    ],
  );
});

test('what happened while no operator ran is recorded when one starts, and nothing twice', async () => {
  await world.apply(aPaymaster());
  await until('it was recorded', 1);
  await world.operator.stop();
  await world.apply(aPaymaster({ keyGeneration: 2 }), aPaymaster({ meta: { name: 'other' } }));
  await world.restart(deps());
  await until('both were recorded', 3);
  await world.operator.stop();
  await world.remove('Paymaster', 'other');
  await world.restart(deps());
  await until('its end was recorded', 4);
  await world.restart(deps());
  await world.settle();
  expect(await changes()).toHaveLength(4);
});

test('reconciles go on while the database is away, and the change is recorded later', async () => {
  isAway = true;
  await world.apply(aPaymaster());
  await world.until('it is served', async () => (await world.config('shop')) !== undefined);
  isAway = false;
  await until('it was recorded', 1);
});

test('an object whose change cannot be recorded stops no other, also where it went while no operator ran', async () => {
  await world.apply(aPaymaster({ meta: { name: 'gone' } }));
  await until('it was recorded', 1);
  await world.operator.stop();
  await world.remove('Paymaster', 'gone');
  poison = 'gone';
  await world.restart(deps());
  await world.apply(aPaymaster());
  await until('the other one was recorded', 2);

  poison = 'shop';
  await world.apply(aPaymaster({ keyGeneration: 2 }), aPaymaster({ meta: { name: 'third' } }));
  await until('the end of the first and the third were recorded', 4);
  poison = undefined;
  await until('the rest was recorded later', 5);
});
