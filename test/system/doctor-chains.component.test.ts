import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { parseAllDocuments, stringify } from 'yaml';
import type { CheckId } from '../../core/problems/checks.js';
import type { ProblemRecord } from '../../core/problems/render.js';
import { devFeeds } from '../../standalone/dev-chain/price-feeds.js';
import { encodeWith } from '../chain/support/account.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import {
  aContract,
  aLimit,
  almostEmpty,
  aPaymaster,
  expectFound,
  namespace,
  sponsored,
  useDoctor,
} from './support/doctor.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';

// What `paymaster doctor` finds wrong with chains, deposits, prices and stores.

const doctor = useDoctor();
const { finds, findsEach, apply, applyLimited, changeChain, aChain } = doctor;

findsEach([
  {
    check: 'deposit-low',
    of: 'needy',
    async breaks() {
      const devChain = attachDevChain(doctor.connection.chainRpcUrl, doctor.connection.chainId);
      try {
        const data = encodeWith(new Interface(['function depositFor(address)']), 'depositFor', [almostEmpty]);
        const to = devChain.profile('1.1.0').sponsorship;
        await devChain.transactor.send('a small deposit', { to, data, value: 10n ** 9n });
      } finally {
        await devChain.stop();
      }
      const organisation = join(doctor.manifests, 'organisation.yaml');
      writeFileSync(
        organisation,
        readFileSync(organisation, 'utf8').replace(
          '  namespace: quickstart',
          `  namespace: quickstart\n  fundingAddresses: ['${almostEmpty}']`,
        ),
      );
      applyLimited('needy', { funding: { address: almostEmpty } });
    },
  },
  {
    check: 'nothing-to-serve',
    of: 'bare',
    breaks: () => apply(aChain('bare', 79, { profiles: [] })),
    isOfPlatform: true,
  },
  {
    check: 'wrong-chain',
    of: 'stray',
    breaks() {
      apply(aChain('stray', 78, { rpc: { urls: [doctor.connection.chainRpcUrl] } }));
      applyLimited('astray', { chainId: 78 });
    },
  },
  {
    check: 'no-native-price',
    of: 'dollars',
    breaks() {
      const spendingLimit = { scope: 'PAYMASTER', never: {}, threshold: '1', thresholdType: 'USD' };
      apply(aChain('unpriced', 80, { nativePrice: undefined }));
      apply(aPaymaster('rich', { chainId: 80 }), aLimit('dollars', 'rich', { spendingLimit }));
    },
  },
  {
    check: 'secret-not-written',
    of: 'secretive',
    breaks() {
      const secrets = join(doctor.running.dataDirectory, 'secrets', namespace);
      mkdirSync(secrets, { recursive: true });
      writeFileSync(join(secrets, 'taken.json'), '{"owner":"somebody","data":{}}');
      applyLimited('secretive', { writeConnectionSecretToRef: { name: 'taken' } });
    },
  },
  {
    check: 'not-programmed',
    of: 'huge',
    breaks() {
      const names = Array.from({ length: 1_000 }, (_, index) => `method${index}`);
      const large = JSON.stringify(names.map((name) => ({ type: 'function', name, inputs: [] })));
      applyLimited('huge', {});
      for (let index = 0; index < 50; index += 1) {
        const address = `0x${(index + 1).toString(16).padStart(40, '0')}`;
        const spec = { paymasterRef: { name: 'huge' }, abi: large, whitelistedMethods: names, address };
        apply(aContract(`large-${index}`, spec));
      }
    },
  },
  {
    check: 'data-fee-unknown',
    of: 'dev',
    breaks: () => changeChain(() => ({ dataFee: { kind: 'OpStack', maxFee: '0.001' } })),
  },
]);

test('a price that cannot be used', async () => {
  const file = join(doctor.manifests, 'fee-token.yaml');
  const token = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as TokenLike;
  // Without the source that never fails.
  const [price] = token.spec.price.combine.sources;
  writeFileSync(file, stringify({ ...token, spec: { ...token.spec, price } }));
  const { chainRpcUrl, chainId, feeToken } = doctor.connection;
  const devChain = attachDevChain(chainRpcUrl, chainId);
  try {
    const { native } = devFeeds(feeToken.symbol);
    const data = encodeWith(new Interface(['function set(int256 answer)']), 'set', [0]);
    await devChain.transactor.send('a price of zero', { to: native.address, data });
  } finally {
    await devChain.stop();
  }
  await finds({ check: 'price-unusable', name: 'dev-dusd' });
});

type TokenLike = {
  readonly spec: { readonly price: { readonly combine: { readonly sources: readonly object[] } } };
};

// The last ones: a chain does not go back.
test.each<{ readonly check: CheckId; readonly seconds: number }>([
  { check: 'clock-skew', seconds: 75 },
  { check: 'clock-ahead', seconds: 3600 },
])('$check: a clock that is $seconds s behind the chain', async ({ check, seconds }) => {
  const { chainRpcUrl, chainId } = doctor.connection;
  const devChain = attachDevChain(chainRpcUrl, chainId);
  try {
    await devChain.chain.request('evm_increaseTime', [seconds]);
    await devChain.chain.request('evm_mine', []);
  } finally {
    await devChain.stop();
  }
  await finds({ check, name: 'dev' });
});

test('an installation without a paymaster', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'doctor-'));
  const idle = await startStandalone({ environment: { PAYMASTER_MANIFESTS: empty } });
  try {
    const { dashboardUrl } = idle.connection();
    const args = ['--data-dir', idle.dataDirectory, '--readyz', dashboardUrl];
    const { out, status } = await paymaster(['doctor', '-o', 'json', ...args], {});
    const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
    expect(problems.map(({ check }) => check)).toContain('nothing-served');
    expect(status).toBe(1);
  } finally {
    await stopStandalone(idle);
    removeDataDirectory(idle.dataDirectory);
    rmSync(empty, { recursive: true });
  }
});

test('usage that was lost, until the manifest of the chain accepts the loss', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  cpSync(join(repositoryRoot, 'examples/quickstart'), folder, { recursive: true });
  const environment = { PAYMASTER_MANIFESTS: folder };
  const first = await startStandalone({ environment });
  const { dataDirectory } = first;
  let second = first;
  try {
    // Without a promise nothing can be lost.
    expect(await rpcOf(first)).toMatchObject({ result: {} });
    await stopStandalone(first);
    for (const name of ['usage.sqlite', 'usage.sqlite-wal'])
      rmSync(join(dataDirectory, name), { force: true });
    second = await startStandalone({ dataDirectory, environment });
    const { dashboardUrl, authToken } = second.connection();
    const token = join(dataDirectory, 'token');
    writeFileSync(token, authToken);
    const ofProcess = () => paymaster(['doctor', '-o', 'json', '--readyz', dashboardUrl], {});
    const ofObjects = () => paymaster(['doctor', '-o', 'json', '--data-dir', dataDirectory], {});
    const ofOrganisation = () =>
      paymaster(['doctor', '-o', 'json'], { PAYMASTER_URL: dashboardUrl, PAYMASTER_TOKEN_FILE: token });
    const lost = { check: 'database-lost', name: 'dev' } as const;
    await expectFound({ ...lost, name: new URL(dashboardUrl).host }, [ofProcess]);
    await expectFound(lost, [ofObjects, ofOrganisation]);
    const { problems } = JSON.parse((await ofObjects()).out) as { problems: readonly ProblemRecord[] };
    const { message = '' } = problems.find(({ check }) => check === 'database-lost') ?? {};
    const [, name, value] = /(paymasters\.dev\/accept-usage-loss)=(\S+)/.exec(message) ?? [];
    expect(message).toContain(`in its manifest`);

    const file = join(folder, 'chain.yaml');
    const chain = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as { metadata: object };
    const metadata = { ...chain.metadata, annotations: { [name!]: value } };
    writeFileSync(file, stringify({ ...chain, metadata }));
    await until('it signs again', async () => (await rpcOf(second)).result?.['mode'] === 'SPONSORED');
  } finally {
    await stopStandalone(second);
    removeDataDirectory(dataDirectory);
    rmSync(folder, { recursive: true });
  }
});

const rpcOf = (instance: RunningStandalone) =>
  rpc(instance.connection().rpcUrl, 'pm_sponsorUserOperation', [
    freshUserOp(instance.connection()),
    sponsored,
  ]);
