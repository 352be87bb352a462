import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { createNodes, type Nodes, type Reply } from '../chain/support/nodes.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { rpc, toWire, type RpcAnswer } from '../system/support/client.js';
import { startWorld, type World } from './support/world.js';

// Requests without gas limits make the service simulate, which is the most expensive thing that a stranger can make a node do. A
// request that is refused anyway must not be simulated, and one key must not take the node from all others.

const version = 'singleton-0.7';
const methods = new Interface(['function increment()', 'function fail()']);

let anvil: DevChain;
let nodes: Nodes;
let world: World;
/** Selectors of `validatePaymasterUserOp`, which the operator calls from time to time to see whether payments are secured. */
const probes = ['0xf465c77e', '0x52b7512c'];
/** Simulations that reached the node: `simulateHandleOp` of the EntryPoint, with its code overridden. */
const simulations: { readonly gas: unknown; readonly data: string }[] = [];
/** The node holds simulations of this sender until `release`. */
let held:
  { readonly sender: string; readonly released: Promise<void>; now: number; most: number } | undefined;

beforeAll(async () => {
  anvil = await startDevChain();
  nodes = createNodes(() => anvil.url);
  const counting = await nodes.proxy(async (method, params, closed): Promise<Reply> => {
    if (method !== 'eth_call' || params.length < 3) return 'pass';
    const { gas, data } = params[0] as { readonly gas?: unknown; readonly data: string };
    if (probes.some((selector) => data.startsWith(selector))) return 'pass';
    simulations.push({ gas, data });
    const gate = held;
    if (gate === undefined || !data.includes(gate.sender.slice(2))) return 'pass';
    gate.now += 1;
    gate.most = Math.max(gate.most, gate.now);
    // The service gives up a call after a while, and may then make another one.
    await Promise.race([gate.released, closed]);
    gate.now -= 1;
    return 'pass';
  });
  // The limit of a key is per process, so the test asks one process; three of them would allow three times as many.
  world = await startWorld('the embedded store', {}, counting);
});
afterAll(async () => {
  await world.stop();
  await nodes.stop();
  await anvil.stop();
});

describe('a flood of requests without gas limits', () => {
  test('causes no calls of the node where they are refused before: a suspended paymaster, a call that is not whitelisted', async () => {
    const suspended = await world.paymaster(version, { suspended: true });
    const whitelisted = await world.paymaster(version);
    const { op } = await operation();
    const foreign = await operation('fail');
    simulations.length = 0;
    const answers = await Promise.all([
      ...Array.from({ length: 100 }, () => ask(suspended, op)),
      ...Array.from({ length: 100 }, () => ask(whitelisted, foreign.op)),
    ]);
    expect(simulations).toEqual([]);
    expect(new Set(answers.map(({ result }) => result?.['reason']))).toEqual(
      new Set(['SUSPENDED', 'METHOD_NOT_WHITELISTED']),
    );
    for (const { result } of answers)
      for (const limit of ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'])
        expect(Number(result?.[limit])).toBeGreaterThan(0);
  });

  test("takes at most its share of the simulations: another user's estimate is answered meanwhile", async () => {
    const [greedy, honest] = [await world.paymaster(version), await world.paymaster(version)];
    const attack = await operation();
    // The first measurement learns what the node can do, with four times the calls.
    await ask(honest, (await operation()).op);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const gate = { sender: attack.op.sender, released, now: 0, most: 0 };
    held = gate;
    const asked = Array.from({ length: 200 }, () => ask(greedy, attack.op));
    await until('the attacker has his share', () => gate.now === 30);
    // What hangs too long is given up and asked again.
    const { most } = gate;

    // The control: answered while every simulation of the attacker hangs.
    const answer = await ask(honest, (await operation()).op);
    expect(answer.result?.['reason']).toBeUndefined();
    expect(answer.result?.['paymasterAndData']).not.toBe('0x');

    release();
    const answers = await Promise.all(asked);
    held = undefined;
    // Ten requests of three calls each, of fifty requests that the chain has room for.
    expect(most).toBe(30);
    const busy = answers.filter(({ error }) => error?.data?.['reason'] === 'SIMULATIONS_BUSY');
    expect(busy.length).toBeGreaterThanOrEqual(200 - 10 - 128);
    for (const { error } of busy) expect(error).toMatchObject({ code: -32003, data: { retryable: true } });
  });

  test('every simulation names the gas that it may use', () => {
    expect(simulations.length).toBeGreaterThan(0);
    for (const { gas } of simulations) {
      expect(Number(gas)).toBeGreaterThan(100_000);
      expect(Number(gas)).toBeLessThan(60_000_000);
    }
  });
});

async function operation(method = 'increment') {
  const account = await buildAccount(world.devChain, '0.7');
  const to = world.devChain.deployments.sponsoredContract.address;
  return { op: await buildUserOp(account, [{ to, data: encodeWith(methods, method, []) }]) };
}

function ask(url: string, op: FinalUserOperation): Promise<RpcAnswer> {
  const {
    callGasLimit: _call,
    verificationGasLimit: _verification,
    preVerificationGas: _pre,
    ...rest
  } = toWire(op);
  return rpc(url, 'pm_sponsorUserOperation', [rest, { mode: 'SPONSORED' }]);
}
