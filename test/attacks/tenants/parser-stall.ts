import { afterAll, expect, test } from '@jest/globals';
import { until } from '../../support/until.js';
import { anObject, aShop, servesEverywhere, type TenantWorld } from '../support/tenant-world.js';

// A tenant whitelists half a megabyte of signatures that are nothing but parentheses: a parser that is quadratic in nesting stops the
// operator, at every reconcile, for everybody. ../core/config/linear-work tests that the work is linear.

const nested = (index: number): string => `f${index}(${'('.repeat(248)}${')'.repeat(248)})`;
const whitelistedMethods = Array.from({ length: 900 }, (_, index) => nested(index));
/** Each is parsed again whenever its Paymaster changes. */
const attackers = ['attacker-0', 'attacker-1'];

export function parserStall(world: TenantWorld): void {
  afterAll(() => world.remove('SmartContract', ...attackers.map((name) => `${name}-counter`)));

  test('signatures that only nest are refused naming their field, and a neighbour made meanwhile is served', async () => {
    await world.apply(...aShop(world, 'neighbour'));
    await servesEverywhere(world, 'neighbour');

    for (const name of attackers) {
      const [paymaster, counter] = aShop(world, name);
      await world.apply(
        paymaster!,
        anObject('SmartContract', `${name}-counter`, { ...counter!.spec, whitelistedMethods }),
      );
    }
    await world.apply(...aShop(world, 'meanwhile'));
    await servesEverywhere(world, 'meanwhile');
    for (const name of attackers)
      await until(`${name} is told`, () =>
        world
          .says('SmartContract', `${name}-counter`)
          .includes(
            'spec.whitelistedMethods[0] must be a signature of at most 512 characters with at most 16 levels',
          ),
      );
    await servesEverywhere(world, 'neighbour');
  }, 600_000);

  test('an honest signature is parsed, and a call that it allows is sponsored', async () => {
    const [paymaster, counter] = aShop(world, 'honest');
    const spec = { ...counter!.spec, whitelistedMethods: ['increment()'] };
    await world.apply(paymaster!, anObject('SmartContract', 'honest-counter', spec));
    await servesEverywhere(world, 'honest');
    expect(world.says('SmartContract', 'honest-counter')).not.toContain('must be');
  }, 600_000);
}
