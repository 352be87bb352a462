import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Kind } from '../../core/resources/kinds.js';
import type { TestAccount } from '../chain/support/account.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { dashboard, rpc } from '../system/support/client.js';
import { attachDevChain } from '../system/support/dev-chain.js';
import { tokenPayers, type TokenPayers } from '../system/support/token-payer.js';
import { emptyStore } from '../adapters/usage/postgres-usage.js';
import { isSoak } from '../support/soak-seconds.js';
import { testOfSoak } from '../support/test-of-soak.js';
import { until } from '../support/until.js';
import { readerOf } from './support/read.js';
import { startInstallation, type Installation } from './support/installation.js';

// How operator and replicas of an installation handle token payments, and a lost usage store, under the
// rights of the chart.

const version = 'singleton-0.7';
const feeToken = 'dev-dusd';
const patienceMs = 240_000;

let installation: Installation;
let devChain: DevChain;
let rpcUrls: readonly string[];
let payers: TokenPayers;
let honest: TestAccount;
beforeAll(async () => {
  installation = await startInstallation({ operators: 1, replicas: 2 });
  const { connection, replicas } = installation;
  devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'tokens', type: 'HYBRID', chainId: connection.chainId, version },
  });
  const { apiKey } = created.body.data as { apiKey: string };
  rpcUrls = replicas.map(({ origin }) => `${origin}/api/v1/${connection.chainId}/${apiKey}`);
  payers = tokenPayers(devChain, version, rpcUrls[0] ?? '');
  honest = await payers.newAccount();
  await everyReplica('takes token payments', undefined);
}, 600_000);
afterAll(async () => {
  await devChain?.stop();
  await installation?.cluster.stop();
});

const kubectl = (...args: string[]): string => installation.cluster.plane.kubectl(args);
const patch = (object: readonly string[], changes: readonly object[]): string =>
  kubectl('patch', ...object, '--type=json', '-p', JSON.stringify(changes));
const condition = (kind: Kind, name: string, type: string): Promise<string | undefined> =>
  readerOf(installation.cluster).condition(kind, name, type);
/** A reader sees no condition, too, where the API server does not answer in time. */
const untilCondition = (kind: Kind, name: string, type: string, wanted: string): Promise<void> =>
  until(
    `${type} of ${name} is ${wanted}`,
    async () => (await condition(kind, name, type)) === wanted,
    patienceMs,
  );
const isTold = async (reason: string): Promise<boolean> =>
  (await readerOf(installation.cluster).eventReasons()).includes(reason);

/** The reason with which each replica refuses a token payment of the honest account; undefined where it signs. */
async function everyReplica(what: string, reason: string | undefined): Promise<void> {
  await until(
    `every replica ${what}`,
    async () => {
      const answers = await Promise.all(rpcUrls.map((url) => payers.ask(honest, url)));
      return answers.every(({ error }) => error?.data?.['reason'] === reason);
    },
    patienceMs,
  );
}

describe('a FeeToken', () => {
  const object = ['feetoken', feeToken];
  const replace = (path: string, value: unknown) => patch(object, [{ op: 'replace', path, value }]);
  const price = (value: object) => replace('/spec/price', value);
  const feedOnly = () => ({
    chainlink: { nativeFeed: devChain.deployments.feeds.native, maxAgeSeconds: 86_400 },
  });
  const feedAndFixed = () => ({
    combine: { sources: [feedOnly(), { static: { rate: '6000000000' } }], maxDeviationPercent: 1 },
  });
  const wordless = '0x1111111111111111111111111111111111111111';
  let whole: { readonly decimals: number; readonly symbol: string; readonly price: object };
  beforeAll(() => {
    whole = (JSON.parse(kubectl('get', ...object, '-o', 'json')) as { spec: typeof whole }).spec;
  });

  test('is usable while its source gives a price and its symbol and decimals match the chain', async () => {
    await untilCondition('FeeToken', feeToken, 'PriceUsable', 'True/Usable');
    await untilCondition('FeeToken', feeToken, 'Ready', 'True/Ready');
  });

  const faults: readonly {
    name: string;
    /** `test/operator/fee-token.test.ts` has every reason; here are one that a person corrects, and one that passes. */
    isInSoakOnly?: true;
    spoil: () => unknown;
    reason: string;
    repair: () => unknown;
    refusal: RegExp;
  }[] = [
    {
      name: 'decimals that are not those of the chain',
      spoil: () => replace('/spec/decimals', 18),
      reason: 'DecimalsMismatch',
      repair: () => replace('/spec/decimals', whole.decimals),
      refusal: /has 6 decimals, its FeeToken says 18/,
    },
    {
      name: 'another symbol',
      isInSoakOnly: true,
      spoil: () => replace('/spec/symbol', 'USDC'),
      reason: 'SymbolMismatch',
      repair: () => replace('/spec/symbol', whole.symbol),
      refusal: /calls itself "DUSD", its FeeToken says "USDC"/,
    },
    {
      name: 'a feed that is not a contract',
      spoil: () => price({ chainlink: { nativeFeed: wordless, maxAgeSeconds: 60 } }),
      reason: 'Malformed',
      repair: () => price(whole.price),
      refusal: /its source gives no price that may be used/,
    },
    {
      name: 'sources that are further apart than allowed',
      isInSoakOnly: true,
      spoil: () => price(feedAndFixed()),
      reason: 'Deviation',
      repair: () => price(whole.price),
      refusal: /more than 1 % apart/,
    },
  ];

  test.each(faults.filter(({ isInSoakOnly }) => isSoak || isInSoakOnly === undefined))(
    'with $name reports what is wrong, is not ready where somebody has to correct it, and is not quoted',
    async ({ spoil, reason, repair, refusal }) => {
      spoil();
      await untilCondition('FeeToken', feeToken, 'PriceUsable', `False/${reason}`);
      const ready = reason.endsWith('Mismatch') ? 'False/PriceNotUsable' : 'True/Ready';
      await untilCondition('FeeToken', feeToken, 'Ready', ready);
      for (const url of rpcUrls)
        await until(
          'it is not quoted',
          async () => refusal.test((await unsupportedReasons(url)).join()),
          patienceMs,
        );
      repair();
      await until(
        'it is usable again',
        async () =>
          (await condition('FeeToken', feeToken, 'PriceUsable')) === 'True/Usable' &&
          (await condition('FeeToken', feeToken, 'Ready')) === 'True/Ready',
        patienceMs,
      );
      await everyReplica('takes token payments', undefined);
    },
  );

  async function unsupportedReasons(url: string): Promise<readonly string[]> {
    const op = {
      sender: honest.address,
      nonce: '0x0',
      initCode: '0x',
      callData: '0x',
      callGasLimit: '100000',
      verificationGasLimit: '500000',
      preVerificationGas: '60000',
      maxFeePerGas: '0x77359400',
      maxPriorityFeePerGas: '0x3b9aca00',
    };
    const { result } = await rpc(url, 'pm_getFeeQuoteOrData', [op, { mode: 'ERC20' }]);
    return Object.values((result?.['unsupportedReasons'] ?? {}) as Record<string, string>);
  }
});

describe('losses on token payments', () => {
  const object = ['chain', 'dev'];
  const budget = (value: string) => {
    const { spec } = JSON.parse(kubectl('get', ...object, '-o', 'json')) as {
      spec: { profiles: { version: string }[] };
    };
    const index = spec.profiles.findIndex((profile) => profile.version === version);
    patch(object, [{ op: 'add', path: `/spec/profiles/${index}/tokenLossBudget`, value }]);
  };
  const reasonOfChain = () => condition('Chain', 'dev', 'TokenLoss');

  test('are shown as within the budget as soon as a follower has looked', async () => {
    await until(
      'TokenLoss is False',
      async () => (await reasonOfChain()) === 'False/WithinBudget',
      patienceMs,
    );
  });

  test('above the budget stop token payments on every replica, with condition and event; sponsorships go on', async () => {
    const thief = await payers.newAccount();
    await payers.pay(thief);
    await payers.cheat(thief);
    budget('0');
    await until('TokenLoss is True', async () => (await reasonOfChain()) === 'True/BudgetLow', patienceMs);
    await everyReplica('refuses token payments', 'TOKEN_LOSS');
    await untilCondition('Chain', 'dev', 'Ready', 'True/Ready');
    await until('an event says so', () => isTold('BudgetLow'), patienceMs);
    budget('1');
  });

  // `test/server/follower/loss-reporter.test.ts` follows a raised budget.
  testOfSoak(
    'below a raised budget do not count: payments are taken, and the condition turns back',
    async () => {
      await until(
        'TokenLoss is False',
        async () => (await reasonOfChain()) === 'False/WithinBudget',
        patienceMs,
      );
      await everyReplica('takes token payments', undefined);
    },
  );
});

describe('a usage store that was emptied', () => {
  test('is a condition of the Chain, which is not ready, and an event; nothing is signed meanwhile', async () => {
    await untilCondition('Chain', 'dev', 'UsageStoreLost', 'False/Kept');
    await emptyStore(installation.cluster.postgres.url);
    await untilCondition('Chain', 'dev', 'UsageStoreLost', 'True/Lost');
    await untilCondition('Chain', 'dev', 'Ready', 'False/UsageStoreLost');
    await everyReplica('refuses', 'USAGE_STORE_LOST');
    await until('an event says so', () => isTold('UsageStoreLost'), patienceMs);
  });
});

describe('the rights used in this file', () => {
  test('are those that the chart grants, and the operator reads ConfigMaps of others by name', () => {
    const lines = installation.cluster.plane.auditLog().split('\n');
    const audited = lines
      .filter((line) => line.includes('system:serviceaccount:paymaster-system:paymaster-'))
      .map(
        (line) =>
          JSON.parse(line) as {
            verb: string;
            user: { username: string };
            objectRef?: { resource: string; name?: string };
            responseStatus?: { code?: number };
          },
      );
    expect(audited.filter(({ responseStatus }) => responseStatus?.code === 403)).toEqual([]);
    const configMaps = new Set(
      audited
        .filter(
          ({ user, objectRef }) => user.username.endsWith('operator') && objectRef?.resource === 'configmaps',
        )
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.name}`),
    );
    expect([...configMaps].sort()).toEqual([
      'create paymaster-master-keys',
      'watch paymaster-master-keys',
      'watch paymaster-reports',
      'watch paymaster-usage-epochs',
    ]);
  });
});
