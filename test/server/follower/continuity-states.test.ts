import { afterEach, expect, test } from '@jest/globals';
import { checkContinuity } from '../../../server/follower/continuity.js';
import { History } from '../../../server/follower/history.js';
import { chainId, seconds } from '../../conformance/usage-requests.js';
import { drawnIn, walked } from '../../support/drawn-states.js';
import { aFollowed, anOperation, aPromise, type Followed } from './followed.js';

const open: Followed[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop();
});

/** A chain of which two steps were taken; the later one has ended a reservation. */
async function whole(): Promise<Followed> {
  const it = await aFollowed();
  open.push(it);
  await it.usage.reserve(aPromise(100));
  it.pass(3);
  await it.follower.round();
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(3);
  await it.follower.round();
  return it;
}

async function stateOf({ chain, usage }: Followed): Promise<string> {
  const cursor = (await usage.cursor(chainId))!;
  const history = new History();
  history.load(await usage.takenSteps(chainId));
  const points = history.points();
  const head = (await chain.block('latest'))!;
  const state = await checkContinuity(chain, cursor, head, points);
  if (state !== 'broken') return state;
  for (const { blockNumber, blockHash } of points)
    if ((await chain.block(blockNumber))?.hash === blockHash) return 'broken';
  const { restored, charges } = history.after(undefined);
  return restored.length + charges.length > 0 ? 'replaced' : 'forgotten';
}

const events: Readonly<Record<string, (it: Followed) => unknown>> = {
  'the node lags': ({ chain }) => {
    chain.shown = chain.height - 6;
  },
  'the node has caught up': ({ chain }) => {
    chain.shown = undefined;
  },
  'a reorganisation': ({ chain, pass }) => {
    chain.reorganise(chain.height - 5);
    pass(9);
  },
  'another chain': ({ chain, pass }) => {
    chain.replace(seconds(3000));
    pass(99);
  },
  takeBackStep: ({ follower }) => follower.round(),
  'Rescan.start': ({ follower }) => follower.round(),
};
const after =
  (...names: readonly string[]) =>
  async (): Promise<Followed> => {
    const it = await whole();
    for (const name of names) await events[name]?.(it);
    return it;
  };

test('a followed chain takes the arrows that are drawn in continuity.ts', async () => {
  const taken = await walked<Followed>({
    states: {
      whole,
      waiting: after('the node lags'),
      broken: after('a reorganisation'),
      replaced: after('another chain'),
      forgotten: after('another chain', 'takeBackStep'),
    },
    events,
    stateOf,
    only: {
      'the node lags': ['whole'],
      'a reorganisation': ['whole'],
      'another chain': ['whole'],
      // Both are what a round does, in these states and in no other one.
      takeBackStep: ['whole', 'waiting', 'broken', 'replaced'],
      'Rescan.start': ['whole', 'waiting', 'forgotten'],
    },
  });
  expect(taken).toEqual(drawnIn('server/follower/continuity.ts'));
});
