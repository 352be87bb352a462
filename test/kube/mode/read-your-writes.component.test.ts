import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  acmeToken,
  chainId,
  createPaymaster,
  recordOf,
  recordsOf,
  startDashboard,
} from '../../build/dashboard.js';
import type { Answer, DashboardHost } from '../../build/dashboard.js';
import { addressOf } from '../../build/configs.js';
import { isSoak } from '../../support/soak-seconds.js';

// Three replicas of the dashboard on one API server: once one replica has answered a write, the others show it at once. They
// keep no state, and each has its own connections; an operator that has fallen behind makes no difference.

/** Of each sequence. */
const writes = isSoak ? 30 : 10;
const twins = isSoak ? 15 : 4;

type Credentials = { readonly token: string; readonly key: string };

/** A client of one paymaster, and what it must see: names of policies with their state, and addresses of contracts. */
type Client = {
  readonly credentials: Credentials;
  readonly policies: Map<string, { readonly id: string; active: boolean; threshold: number }>;
  readonly contracts: Map<string, readonly string[]>;
};

describe.each([
  { name: 'while an operator runs', operator: true },
  { name: 'while no operator runs, as when its watch has stalled', operator: false },
])('$name', ({ operator }) => {
  let host: DashboardHost;
  let replicas: readonly DashboardHost[];
  beforeAll(async () => {
    host = await startDashboard({ operator });
    replicas = [await host.beside(), await host.beside(), await host.beside()];
  });
  afterAll(async () => {
    for (const replica of replicas ?? []) await replica.stop();
    await host?.stop();
  });

  const replica = (index: number): DashboardHost => {
    const chosen = replicas[index % replicas.length];
    if (chosen === undefined) throw new Error('no replica runs');
    return chosen;
  };

  test('each write of four interleaved sequences is seen by the other two replicas at once', async () => {
    const seen = await Promise.all([1, 2, 3, 4].map((seed) => runSequence(seed, writes)));
    expect(seen.flat().filter((problem) => problem !== undefined)).toEqual([]);
    expect(seen.flat()).toHaveLength(4 * writes);
  });

  /** One entry per write: what another replica failed to show, or undefined. */
  async function runSequence(seed: number, steps: number): Promise<readonly (string | undefined)[]> {
    const random = sequenceOf(seed);
    const credentials = await createPaymaster(replica(seed), { name: `Sequence ${seed}` });
    const client: Client = { credentials, policies: new Map(), contracts: new Map() };
    const problems: (string | undefined)[] = [];
    for (let step = 0; step < steps; step += 1) {
      const writer = random(replicas.length);
      const what = await writeSomething(client, replica(writer), step, random);
      const problem = await differenceAt(client, [replica(writer + 1), replica(writer + 2)]);
      problems.push(problem && `sequence ${seed}, step ${step}, after ${what}: ${problem}`);
    }
    return problems;
  }

  test('when all replicas get a duplicate at once exactly one request wins, and each replica shows it at once', async () => {
    for (let round = 0; round < twins; round += 1) {
      const name = `Twin ${round}`;
      const body = { name, type: 'HYBRID', chainId, version: '1.1.0' };
      const created = await atEach((each) => each.call('POST', '/paymaster', { token: acmeToken, body }));
      expect(tally(created)).toEqual({ '200': 1, '400 paymaster_name_exists': 2 });
      const key = String(recordOf(created.find(({ status }) => status === 200)?.body.data)['apiKey']);
      const credentials = { token: acmeToken, key };

      const contracts = await atEach((each) =>
        each.call('POST', '/smart-contract', { ...credentials, body: aContractBody }),
      );
      expect(tally(contracts)).toEqual({ '200': 1, '400 Smart contract address already exists': 2 });
      const policies = await atEach((each) =>
        each.call('POST', '/paymaster-policy', { ...credentials, body: aLimitBody }),
      );
      expect(tally(policies)).toEqual({ '200': 1, '400 A policy named "Daily" already exists': 2 });

      const listed = await atEach((each) => each.call('GET', '/paymaster-policy', credentials));
      for (const { body: list } of listed)
        expect(recordsOf(list.data).map((record) => record['name'])).toEqual(['Daily', 'NFT']);
    }
  });

  function atEach(send: (each: DashboardHost) => Promise<Answer>): Promise<Answer[]> {
    return Promise.all(replicas.map(send));
  }
});

async function writeSomething(
  client: Client,
  at: DashboardHost,
  step: number,
  random: (below: number) => number,
): Promise<string> {
  const { credentials, policies, contracts } = client;
  const send = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await at.call(method, path, { ...credentials, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.body.message}`);
    return answer;
  };
  const name = `Rule ${step}`;
  const [policy] = [...policies].slice(random(policies.size || 1));
  const [contract] = [...contracts].slice(random(contracts.size || 1));
  switch (random(7)) {
    case 0:
    case 1: {
      const deployments = [...policies.values()].filter(({ threshold }) => threshold === 0);
      const isLimit = random(2) === 0 || deployments.length >= 5;
      const { body } = await send('POST', '/paymaster-policy', {
        ...(isLimit ? aLimitBody : aDeploymentBody),
        name,
      });
      policies.set(name, {
        id: String(recordOf(body.data)['_id']),
        active: true,
        threshold: isLimit ? 10 : 0,
      });
      return `creating policy ${name}`;
    }
    case 2: {
      const address = addressOf(0x10_000 + step);
      await send('POST', '/smart-contract', { ...aContractBody, name: `Contract ${step}`, address });
      contracts.set(address, aContractBody.whitelistedMethods);
      return `creating contract ${address}`;
    }
    case 3: {
      if (contract === undefined) break;
      await send('DELETE', '/smart-contract', { address: contract[0] });
      contracts.delete(contract[0]);
      return `deleting contract ${contract[0]}`;
    }
    case 4: {
      if (contract === undefined) break;
      const whitelistedMethods = contract[1].includes('burn') ? ['mint'] : ['burn'];
      await send('PATCH', '/smart-contract', { address: contract[0], whitelistedMethods });
      contracts.set(contract[0], whitelistedMethods);
      return `changing contract ${contract[0]}`;
    }
    case 5: {
      if (policy === undefined) break;
      const [of, state] = policy;
      await send('PATCH', `/paymaster-policy/${state.active ? 'deactivate' : 'activate'}/${state.id}`);
      policies.set(of, { ...state, active: !state.active });
      return `switching policy ${of}`;
    }
    default: {
      if (policy === undefined || policy[1].threshold === 0) break;
      const [of, state] = policy;
      const threshold = 100 + step;
      await send('PATCH', `/paymaster-policy/limit/${state.id}`, { threshold, name });
      policies.delete(of);
      policies.set(name, { ...state, threshold });
      return `renaming policy ${of} to ${name}`;
    }
  }
  const { body } = await send('POST', '/paymaster-policy', { ...aLimitBody, name });
  policies.set(name, { id: String(recordOf(body.data)['_id']), active: true, threshold: 10 });
  return `creating limit ${name}`;
}

/** What one of the replicas shows wrongly; undefined when all replicas are up to date. */
async function differenceAt(client: Client, readers: readonly DashboardHost[]): Promise<string | undefined> {
  const want = stateOf(
    [...client.policies].map(([name, { active, threshold }]) => `${name} ${active} ${threshold}`),
    [...client.contracts].map(([address, methods]) => `${address} ${methods.join()}`),
  );
  const shown = await Promise.all(
    readers.map(async (reader) => {
      const [policies, contracts] = await Promise.all(
        ['/paymaster-policy', '/smart-contract'].map((path) => reader.call('GET', path, client.credentials)),
      );
      return stateOf(
        recordsOf(policies?.body.data)
          .filter(isRule)
          .map((record) => {
            const threshold = Number(recordOf(record['policyData'])['threshold'] ?? 0);
            return `${String(record['name'])} ${String(record['active'])} ${threshold}`;
          }),
        recordsOf(contracts?.body.data).map(
          (record) => `${String(record['address'])} ${String(record['whitelistedMethods'])}`,
        ),
      );
    }),
  );
  const wrong = shown.find((each) => each !== want);
  return wrong && `want ${want}, got ${wrong}`;
}

/** The list of policies ends with one record for each contract, which `/smart-contract` lists too. */
function isRule(record: Readonly<Record<string, unknown>>): boolean {
  return String(record['name']).startsWith('Rule ');
}

function stateOf(policies: readonly string[], contracts: readonly string[]): string {
  return JSON.stringify([policies.toSorted(), contracts.toSorted()]);
}

function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const line = status === 200 ? '200' : `${status} ${body.message}`;
    counts[line] = (counts[line] ?? 0) + 1;
  }
  return counts;
}

/** The same numbers in every run, so that a failure can be repeated (linear congruential, Numerical Recipes). */
function sequenceOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
