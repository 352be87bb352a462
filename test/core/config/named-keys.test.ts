import { describe, expect, test } from '@jest/globals';
import { deriveApiKey, hashCredential } from '../../../core/config/api-key.js';
import { compilePaymaster } from '../../../core/config/compile.js';
import { nextGeneration } from '../../../core/config/named-keys.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { PaymasterSources } from '../../../core/config/sources.js';
import { buryPaymaster } from '../../../core/config/tombstone.js';
import type { NamedKeySpec } from '../../../core/resources/named-key.js';
import { aPaymaster } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';

/** A leaked key that was revoked stays dead, whatever its owner writes later. */

const master = { current: new Uint8Array(32).fill(1), previous: new Uint8Array(32).fill(2) };
const hashOf = (keyName: string, keyGeneration: number, by = master.current): string =>
  hashCredential(deriveApiKey(by, { namespace: 'acme', name: 'shop', keyGeneration, keyName }));

const compile = (
  keys: readonly NamedKeySpec[] | undefined,
  previous?: PaymasterConfig,
  others: Partial<PaymasterSources> = {},
) =>
  compilePaymaster(
    someSources({
      paymaster: aPaymaster(keys === undefined ? {} : { keys }),
      ...(previous === undefined ? {} : { previous }),
      ...others,
    }),
  );
const namedIn = ({ keys }: PaymasterConfig) => keys.filter(({ name }) => name !== undefined);
/** The configs after each of these lists of keys was written. */
const after = (...lists: readonly (readonly NamedKeySpec[] | undefined)[]) => {
  let previous: PaymasterConfig | undefined;
  return lists.map((keys) => (previous = compile(keys, previous).config));
};
const last = (configs: readonly PaymasterConfig[]): PaymasterConfig => configs.at(-1)!;
const web = { name: 'web' };

describe('keys with names', () => {
  test('come after the first key, with what restricts them', () => {
    const cidrs = ['203.0.113.0/24'];
    const rateLimit = { requests: 5, perSeconds: 1 };
    const partner = {
      name: 'partner',
      expiresAt: '2026-03-01T00:00:00Z',
      campaign: 'winter',
      cidrs,
      rateLimit,
    };
    const { config, status } = compile([web, partner]);
    expect(config.keys[0]).not.toHaveProperty('name');
    expect(namedIn(config)).toEqual([
      { sha256: hashOf('web', 1), name: 'web' },
      {
        sha256: hashOf('partner', 1),
        name: 'partner',
        validUntil: Date.parse('2026-03-01T00:00:00Z'),
        campaign: 'winter',
        cidrs,
        rateLimit,
      },
    ]);
    expect(status.keys).toEqual([
      { name: 'web', generation: 1, fingerprint: hashOf('web', 1).slice(0, 8) },
      { name: 'partner', generation: 1, fingerprint: hashOf('partner', 1).slice(0, 8) },
    ]);
  });

  test('work under both master keys while those are rotated', () => {
    const { config } = compile([web], undefined, { masterKeys: master });
    expect(namedIn(config).map(({ sha256 }) => sha256)).toEqual([
      hashOf('web', 1),
      hashOf('web', 1, master.previous),
    ]);
  });

  test('with an end that cannot be read are not served', () => {
    expect(namedIn(compile([{ ...web, expiresAt: 'tomorrow' }]).config)).toEqual([]);
  });

  test('leave a paymaster that has none as it was', () => {
    const { config, status } = compile(undefined);
    expect([config.memory, status.keys, config.keys.length]).toEqual([undefined, undefined, 1]);
  });

  test('are of their name alone: no name, generation or first key gives the key of another', () => {
    const owner = { namespace: 'acme', name: 'shop' };
    const all = [
      deriveApiKey(master.current, { ...owner, keyGeneration: 1 }),
      ...['1', 'web', 'web2', 'we'].flatMap((keyName) =>
        [1, 2, 21].map((keyGeneration) => deriveApiKey(master.current, { ...owner, keyGeneration, keyName })),
      ),
      deriveApiKey(master.current, { namespace: 'acme', name: 'web', keyGeneration: 1, keyName: 'shop' }),
    ];
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('a leaked key stays dead', () => {
  const dead = hashOf('web', 1);
  const isDead = (config: PaymasterConfig) => !config.keys.some(({ sha256 }) => sha256 === dead);

  test.each([
    { how: 'its generation is raised', lists: [[web], [{ ...web, generation: 2 }]] },
    { how: 'the generation falls again', lists: [[web], [{ ...web, generation: 2 }], [web]] },
    { how: 'its name is removed', lists: [[web], []] },
    { how: 'all keys are removed, and no list is left', lists: [[web], undefined] },
    { how: 'its name is removed and added again', lists: [[web], [], [web]] },
    { how: 'it is added again with its generation', lists: [[web], [], [{ ...web, generation: 1 }]] },
    { how: 'Git is reverted twice', lists: [[web], [], [web], [], [web]] },
    {
      how: 'a thousand other names came and went in between',
      lists: [
        [web],
        ...Array.from({ length: 100 }, (_, i) =>
          Array.from({ length: 10 }, (__, j) => ({ name: `other-${i}-${j}` })),
        ),
        [web],
      ],
    },
  ])('after $how', ({ lists }) => {
    expect(isDead(last(after(...lists)))).toBe(true);
  });

  test('also where its Paymaster was deleted and made again, before or after', () => {
    const remade = (config: PaymasterConfig, keys: readonly NamedKeySpec[]) =>
      compile(keys, buryPaymaster(config, someNow)).config;
    const revoked = last(after([web], []));
    expect(isDead(remade(revoked, [web]))).toBe(true);
    const without = remade(last(after([web])), []);
    expect(isDead(compile([web], without).config)).toBe(true);
    expect(isDead(remade(remade(revoked, []), [web]))).toBe(true);
  });

  test('also where nobody has seen that its name was removed, once it is added by the API', () => {
    const seen = last(after([{ ...web, generation: 3 }]));
    const generation = nextGeneration('web', seen.memory?.namedKeys);
    const added = compile([{ ...web, generation }], seen).config;
    expect(namedIn(added).map(({ sha256 }) => sha256)).toEqual([hashOf('web', 4)]);
  });

  test('and every key that was ever made of the name differs', () => {
    const configs = after([web], [], [web], [{ ...web, generation: 5 }], [], [web], undefined, [web]);
    const made = configs.flatMap((config) => namedIn(config).map(({ sha256 }) => sha256));
    expect(made).toHaveLength(5);
    expect(new Set(made).size).toBe(5);
  });
});

describe('a living key lives on', () => {
  const alive = hashOf('web', 1);

  test('while others come and go, and when its Paymaster is made again', () => {
    const config = last(after([web, { name: 'a', generation: 7 }], [web], [web, { name: 'b' }]));
    expect(namedIn(config).map(({ sha256 }) => sha256)).toEqual([alive, hashOf('b', 8)]);
    const remade = compile([web, { name: 'b' }], buryPaymaster(config, someNow)).config;
    expect(remade.keys).toEqual(config.keys);
  });

  test('and the memory does not grow', () => {
    const lists = Array.from({ length: 200 }, (_, i) => [web, { name: `other-${i}` }]);
    const { present } = last(after(...lists)).memory?.namedKeys ?? {};
    expect(present?.map(({ name }) => name)).toEqual(['web', 'other-199']);
    expect(JSON.stringify(last(after(...lists)).memory).length).toBeLessThan(200);
  });
});
