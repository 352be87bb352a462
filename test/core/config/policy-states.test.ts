import { expect, test } from '@jest/globals';
import { compilePaymaster, type CompiledPaymaster } from '../../../core/config/compile.js';
import { policyKinds } from '../../../core/policy/kinds.js';
import type { PaymasterPolicy } from '../../../core/resources/paymaster-policy.js';
import { aLimit, aPolicy } from '../../build/resources.js';
import { someSources } from '../../build/sources.js';
import { drawnIn, walked } from '../../support/drawn-states.js';

const older = { creationTimestamp: '2026-01-01T00:00:00.000Z' };
const one = { name: 'one', creationTimestamp: '2026-01-02T00:00:00.000Z' };
/** As many as count, each of them older than the one that is looked at. */
const others = Array.from({ length: policyKinds.PAYMASTER_SA_LIMIT.most.count }, (_, index) =>
  aPolicy({ meta: { name: `other-${index}`, ...older }, name: `Other ${index}` }),
);
const good = aPolicy({ meta: one, name: 'One' });
const broken = aPolicy({ meta: one, name: 'One', spendingLimit: { ...aLimit, threshold: 'ten' } });
const unpaused = (object: PaymasterPolicy = good): PaymasterPolicy => ({
  ...object,
  spec: { ...object.spec, active: true },
});
const paused = (object: PaymasterPolicy = good): PaymasterPolicy => ({
  ...object,
  spec: { ...object.spec, active: false },
});

type World = { object: PaymasterPolicy | undefined; compiled: CompiledPaymaster | undefined };

/** Compiles the policies after a change, as a reconcile does. */
function compile(world: World, object: PaymasterPolicy | undefined, beside: readonly PaymasterPolicy[] = []) {
  const policies = [...beside, ...(object === undefined ? [] : [object])];
  world.object = object;
  world.compiled = compilePaymaster(someSources({ policies, previous: world.compiled?.config }));
}

const events: Readonly<Record<string, (world: World) => void>> = {
  accepted: (world) => compile(world, good),
  'not accepted': (world) => compile(world, broken),
  'too many': (world) => compile(world, unpaused(world.object), others),
  paused: (world) => compile(world, paused(world.object)),
  deleted: (world) => compile(world, undefined),
};

function after(...names: readonly string[]): World {
  const world: World = { object: undefined, compiled: undefined };
  for (const name of ['deleted', ...names]) events[name]?.(world);
  return world;
}

function stateOf({ compiled }: World): string {
  const policy = compiled?.policies.find(({ object }) => object.metadata.name === one.name);
  if (policy === undefined) return 'absent';
  if (policy.object.spec.active === false) return 'paused';
  if (policy.served === undefined) return 'left out';
  if (policy.served === 'invalid') return 'refusing';
  return policy.accepted.status === 'True' ? 'served' : 'lasting';
}

test('a policy takes the arrows that are drawn above compilePolicies, and no others', async () => {
  const taken = await walked<World>({
    states: {
      absent: () => after(),
      served: () => after('accepted'),
      lasting: () => after('accepted', 'not accepted'),
      refusing: () => after('not accepted'),
      'left out': () => after('too many'),
      paused: () => after('accepted', 'paused'),
    },
    events,
    stateOf,
  });
  expect(taken).toEqual(drawnIn('core/config/compile-policies.ts'));
});

test('a policy in Shadow that was never accepted is not served, and one that was goes on in Shadow', () => {
  const inShadow = ({ spec, ...object }: PaymasterPolicy): PaymasterPolicy => ({
    ...object,
    spec: { ...spec, enforcement: 'Shadow' },
  });
  const world = after();
  compile(world, inShadow(broken));
  expect(world.compiled?.policies[0]?.served).toBeUndefined();
  compile(world, good);
  compile(world, inShadow(broken));
  expect(world.compiled?.policies[0]?.served).toMatchObject({ config: { shadow: true } });
});
