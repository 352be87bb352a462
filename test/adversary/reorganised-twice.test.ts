import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { toAddressKey } from '../../core/units/address.js';
import { aClock } from '../adapters/usage/clock.js';
import { chainId } from '../conformance/usage-requests.js';
import { anAsk, ask, numberOf } from './an-ask.js';
import { modelGround } from './ground.js';
import { Run } from './run.js';
import { Scene } from './scene.js';
import type { Step } from './steps.js';
import { openInMemory } from './stores.js';
import { secondsOf, senders } from './world.js';

// Found by the campaign, and kept as fixed steps. A deposit is settled, and a promise is made against it. Then two reorganisations
// remove together more blocks than the confirmations: the first takes the follower back below the deposit, the second removes it.

const paymaster = numberOf('a/six');
const wallet = toAddressKey(`0x${'03'.repeat(20)}`);
const anOperation = (sender: number) => ask(anAsk({ paymaster, sender, gas: 300_000, feeGwei: 2 }));
const promised: readonly Step[] = [
  { do: 'wallet', paymaster, wallet, amount: 2 },
  { do: 'pass', seconds: 3, blocks: 3 },
  { do: 'round' },
  anOperation(0),
];
const reorganisedDeeply: readonly Step[] = [{ do: 'reorganise', depth: 3, isDeep: true }, { do: 'round' }];
const reorganisedAgain: Step = { do: 'reorganise', depth: 2, isDeep: false };

let scene: Scene;
let run: Run;
beforeEach(async () => {
  const clock = aClock();
  const ground = await modelGround(secondsOf(clock.now()));
  scene = new Scene(clock, await openInMemory(clock), {}, ground);
  run = new Run(scene);
  await run.begin();
});
afterEach(() => run.stop());

test('the store shows no balance and the promise from the first reorganisation on, and nothing more is promised', async () => {
  await take(...promised);
  expect(await known()).toEqual({ balance: 2_000_000, reserved: 1_300_000 });
  expect(run.seen.get('SPONSORED reserved')).toBe(1);

  await take(...reorganisedDeeply);
  expect(run.seen.get('reorganised below the settled block')).toBe(1);
  expect(await known()).toEqual({ balance: 0, reserved: 1_300_000 });
  await take(anOperation(1));
  expect(run.seen.get('SPONSORED deposit')).toBe(1);

  // The deposit is still on the chain, and is gone after this.
  await take(reorganisedAgain, anOperation(1), { do: 'round' }, anOperation(2));
  expect(await known()).toEqual({ balance: 0, reserved: 1_300_000 });
  expect(run.seen.get('SPONSORED deposit')).toBe(3);
  expect(run.seen.get('SPONSORED reserved')).toBe(1);

  // Everything expires: nothing is held then.
  await run.finish();
  expect(await known()).toEqual({ balance: 0, reserved: 0 });
});

test('the model allows what the second reorganisation has removed, and not one signature more', async () => {
  await take(...promised, ...reorganisedDeeply, reorganisedAgain);
  const { truth } = scene;
  truth.check();
  const [grant] = truth.grants;
  truth.add({ ...grant!, op: { ...grant!.op, sender: senders[1]! } });
  expect(() => truth.check()).toThrow(/^rule 2: account .* of 0 may reach 2600000000000000$/);
});

async function take(...steps: readonly Step[]): Promise<void> {
  for (const step of steps) await run.take(step);
}

async function known() {
  const accounts = await scene.store().accounts(chainId);
  const { balance, reserved } = accounts.find(({ fundingAddress }) => fundingAddress === wallet)!;
  return { balance, reserved };
}
