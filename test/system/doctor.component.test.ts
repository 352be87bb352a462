import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface, id } from 'ethers';
import { parseAllDocuments, stringify } from 'yaml';
import { createStops } from '../../adapters/process/stops.js';
import type { CheckId } from '../../core/problems/checks.js';
import type { ProblemRecord } from '../../core/problems/render.js';
import { devFeeds } from '../../standalone/dev-chain/price-feeds.js';
import { encodeWith } from '../chain/support/account.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc, rpcUrlFor } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';

// `paymaster doctor` on `make run` with something broken: it names the cause, and the same object.

const stops = createStops();
const namespace = 'quickstart';
/** A wallet that the organisation may use. */
const almostEmpty = '0x00000000000000000000000000000000000000f8';
const nowhere = '0x00000000000000000000000000000000000000C1';
const apiVersion = 'paymasters.dev/v1alpha1';
let manifests: string;
let running: RunningStandalone;
let tokenFile: string;
/** As it was at first: later it may name another paymaster. */
let connection: ReturnType<RunningStandalone['connection']>;

beforeAll(async () => {
  manifests = mkdtempSync(join(tmpdir(), 'doctor-'));
  stops.add(() => rmSync(manifests, { recursive: true, force: true }));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const environment = { PAYMASTER_MANIFESTS: manifests, PAYMASTER_SIGNER_KEY_STRANGER: id('a stranger') };
  running = await startStandalone({ environment });
  stops.add(async () => {
    await stopStandalone(running);
    removeDataDirectory(running.dataDirectory);
  });
  connection = running.connection();
  tokenFile = join(running.dataDirectory, 'token');
  writeFileSync(tokenFile, connection.authToken);
}, 300_000);
afterAll(() => stops.run());

const asOrganisation = () =>
  paymaster(['doctor', '-o', 'json'], {
    PAYMASTER_URL: connection.dashboardUrl,
    PAYMASTER_TOKEN_FILE: tokenFile,
  });
const asPlatform = () =>
  paymaster(
    ['doctor', '-o', 'json', '--data-dir', running.dataDirectory, '--readyz', connection.dashboardUrl],
    {},
  );

type Wanted = { readonly check: CheckId; readonly name: string; readonly says?: RegExp };

/** Waits until it is found, by each of those who ask; the command then ends with 1. */
async function finds(
  { check, name, says = /./ }: Wanted,
  askers = [asOrganisation, asPlatform],
): Promise<void> {
  for (const ask of askers) {
    let last = '';
    await until(
      () => `${check} of ${name} is found in ${last}`,
      async () => {
        const { out, status, error } = await ask();
        if (out === '') throw new Error(error);
        const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
        last = problems.map((each) => `${each.check} of ${each.name}`).join(', ');
        const found = problems.find((each) => each.check === check && each.name === name);
        if (found === undefined || !says.test(`${found.message} ${found.meaning}`)) return false;
        expect(found.remedy).not.toBe('');
        expect(status).toBe(found.severity === 'note' ? status : 1);
        return true;
      },
    );
  }
}

function apply(
  ...objects: readonly { readonly kind: string; readonly metadata: { readonly name: string } }[]
) {
  for (const object of objects)
    writeFileSync(
      join(manifests, `${object.kind}-${object.metadata.name}.yaml`),
      stringify({ apiVersion, ...object }),
    );
}

const aPaymaster = (name: string, spec: object = {}, of = namespace) => ({
  kind: 'Paymaster',
  metadata: { name, namespace: of },
  spec: { name, chainId: 31337, type: 'HYBRID', version: '1.1.0', ...spec },
});
const aPolicy = (name: string, of: string, spec: object) => ({
  kind: 'PaymasterPolicy',
  metadata: { name, namespace },
  spec: { paymasterRef: { name: of }, name, ...spec },
});
const aLimit = (name: string, of: string, spec: object = {}) =>
  aPolicy(name, of, {
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      cycleDuration: { value: 1, unit: 'day' },
      threshold: '1000',
      thresholdType: 'COUNT',
    },
    ...spec,
  });

/** The Chain of the quickstart with something changed. */
function changeChain(change: (spec: ChainLike) => object): void {
  const file = join(manifests, 'chain.yaml');
  const chain = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as { readonly spec: ChainLike };
  writeFileSync(file, stringify({ ...chain, spec: { ...chain.spec, ...change(chain.spec) } }));
}
type ChainLike = { readonly profiles: readonly { readonly version: string }[] };

/** One more version of the contract of 1.1.0. */
function addVersion(version: string, changed: object): void {
  changeChain(({ profiles }) => ({
    profiles: [...profiles, { ...profiles.find((each) => each.version === '1.1.0'), version, ...changed }],
  }));
}

const ask = async (url: string) => rpc(url, 'pm_sponsorUserOperation', [freshUserOp(connection), sponsored]);
const sponsored = { mode: 'SPONSORED', calculateGasLimits: false };

/** Where wallets of this paymaster ask. */
async function urlOf(name: string): Promise<string> {
  const { dashboardUrl, authToken } = connection;
  let key: string | undefined;
  await until(`${name} has a key`, async () => {
    const answer = await fetch(`${dashboardUrl}/manage/v1/paymasters/${name}/key`, {
      headers: { authToken },
    });
    key = ((await answer.json()) as { readonly data?: { readonly key: string } }).data?.key;
    return key !== undefined;
  });
  return rpcUrlFor(connection, key!);
}

test('nothing is wrong with the quickstart', async () => {
  await until('deposits were read', async () => (await asOrganisation()).status === 0);
  const { out, error, status } = await paymaster(['doctor'], {
    PAYMASTER_URL: connection.dashboardUrl,
    PAYMASTER_TOKEN_FILE: tokenFile,
  });
  expect({ out, error, status }).toEqual({ out: 'nothing is wrong\n', error: '', status: 0 });
  const { out: all } = await asPlatform();
  const { problems } = JSON.parse(all) as { readonly problems: readonly ProblemRecord[] };
  // Its contract has no owner who could stake it.
  expect(problems.filter(({ severity }) => severity !== 'note')).toMatchObject([
    { check: 'stake-missing', displayName: 'dev, version verifying-0.7' },
  ]);
});

test('a server that does not answer ends it with 3', async () => {
  const nobody = { PAYMASTER_URL: 'http://127.0.0.1:9', PAYMASTER_TOKEN_FILE: tokenFile };
  expect(await paymaster(['doctor'], nobody)).toMatchObject({ status: 3, out: '' });
  expect(await paymaster(['doctor', '--readyz', 'http://127.0.0.1:9'], {})).toMatchObject({ status: 3 });
});

test('no Organisation', async () => {
  apply(aPaymaster('homeless', {}, 'nobody'));
  await finds({ check: 'no-organisation', name: 'homeless', says: /No Organisation/ }, [asPlatform]);
  expect((await asOrganisation()).out).not.toContain('homeless');
});

test('no signer', async () => {
  addVersion('unsigned', { signer: { file: 'absent' } });
  apply(aPaymaster('unsigned', { version: 'unsigned' }), aLimit('unsigned-limit', 'unsigned'));
  await finds({ check: 'signer-missing', name: 'dev', says: /key/ });
});

test('no deposit', async () => {
  const address = '0x00000000000000000000000000000000000000f7';
  const organisation = join(manifests, 'organisation.yaml');
  writeFileSync(
    organisation,
    readFileSync(organisation, 'utf8').replace(
      '  namespace: quickstart',
      `  namespace: quickstart\n  fundingAddresses: ['${address}', '${almostEmpty}']`,
    ),
  );
  apply(aPaymaster('poor', { funding: { address } }), aLimit('poor-limit', 'poor'));
  await finds({ check: 'deposit-empty', name: 'poor' });
});

test('no stake', async () => {
  apply(aPaymaster('unstaked', { version: 'verifying-0.7' }), aLimit('unstaked-limit', 'unstaked'));
  await finds({ check: 'stake-missing', name: 'dev', says: /stake/ });
});

test('a chain that is away', async () => {
  const chain = parseAllDocuments(readFileSync(join(manifests, 'chain.yaml'), 'utf8'))[0]!.toJS() as {
    spec: object;
  };
  const spec = { ...chain.spec, chainId: 77, rpc: { urls: ['http://127.0.0.1:9'] } };
  apply({ kind: 'Chain', metadata: { name: 'away' }, spec } as never);
  apply(aPaymaster('far', { chainId: 77 }), aLimit('far-limit', 'far'));
  await finds({ check: 'chain-away', name: 'away' });
});

test('an invalid policy', async () => {
  apply(
    aPaymaster('misjudged'),
    aPolicy('misspelt', 'misjudged', { policyType: 'EXPRESSION', expression: { text: 'cost.euros < 1' } }),
  );
  await finds({ check: 'policy-invalid', name: 'misjudged', says: /misspelt/ });
});

test('open sponsorship, and no limit', async () => {
  apply(aPaymaster('open'));
  await finds({ check: 'open-sponsorship', name: 'open' });
  await finds({ check: 'no-limit', name: 'open' });
});

test('a webhook that does not answer', async () => {
  const url = 'http://127.0.0.1:9/check';
  apply(
    aPaymaster('hooked'),
    aLimit('hooked-limit', 'hooked'),
    aPolicy('unheard', 'hooked', { policyType: 'WEBHOOK', webhook: { url } }),
  );
  const hooked = await urlOf('hooked');
  await until('it refuses', async () => (await ask(hooked)).reason !== undefined);
  await finds({ check: 'webhook-failing', name: 'hooked', says: /unheard/ });
});

test('Shadow that would refuse much', async () => {
  const limit = aLimit('tight', 'shaded', { enforcement: 'Shadow' });
  const spendingLimit = {
    ...(limit.spec as unknown as { spendingLimit: object }).spendingLimit,
    threshold: '1',
  };
  apply(aPaymaster('shaded'), { ...limit, spec: { ...limit.spec, spendingLimit } } as never);
  const shaded = await urlOf('shaded');
  // The first ones may come before the policy.
  const afterOneMore = async () => {
    await ask(shaded);
    return asOrganisation();
  };
  const says = /"tight" would have refused \d+ of the \d+ operations/;
  await finds({ check: 'shadow-refuses-much', name: 'shaded', says }, [afterOneMore]);
});

type Broken = {
  readonly check: CheckId;
  /** The object. */
  readonly of: string;
  readonly says?: RegExp;
  readonly breaks: () => unknown;
  /** An organisation is not shown what is of the platform alone. */
  readonly isOfPlatform?: true;
};

/** A paymaster with a limit. */
const applyLimited = (name: string, spec: object): void =>
  apply(aPaymaster(name, spec), aLimit(`${name}-limit`, name));
const aContract = (name: string, spec: object) => ({
  kind: 'SmartContract',
  metadata: { name, namespace },
  spec: { paymasterRef: { name: 'shop' }, name, abi, whitelistedMethods: ['go'], ...spec },
});
const abi = JSON.stringify([
  { type: 'function', name: 'go', inputs: [], outputs: [], stateMutability: 'nonpayable' },
]);
const aChain = (name: string, chainId: number, spec: object) => {
  const known = parseAllDocuments(readFileSync(join(manifests, 'chain.yaml'), 'utf8'))[0]!.toJS() as Manifest;
  return { kind: 'Chain', metadata: { name }, spec: { ...known.spec, chainId, ...spec } };
};
type Manifest = { readonly spec: object };

test.each<Broken>([
  {
    check: 'object-invalid',
    of: 'without-method',
    says: /absent/,
    breaks: () => apply(aContract('without-method', { address: nowhere, whitelistedMethods: ['absent'] })),
  },
  { check: 'not-allowed', of: 'twin', breaks: () => applyLimited('twin', { name: 'shop' }) },
  {
    check: 'reference-missing',
    of: 'lost',
    says: /absent/,
    breaks: () => applyLimited('lost', { version: 'absent' }),
  },
  {
    check: 'caps-limited',
    of: 'capped',
    says: /maxCallGasLimit/,
    breaks: () => applyLimited('capped', { gas: { maxCallGasLimit: 900_000_000 } }),
  },
  { check: 'suspended', of: 'stopped', breaks: () => applyLimited('stopped', { suspended: true }) },
  {
    check: 'signer-not-authorized',
    of: 'dev',
    breaks() {
      addVersion('strange', { signer: { file: 'stranger' } });
      applyLimited('strange', { version: 'strange' });
    },
  },
  {
    check: 'signer-unusable',
    of: 'dev',
    breaks() {
      // Of a missing key and a wrong one the Chain tells the missing one.
      changeChain(({ profiles }) => ({
        profiles: profiles.filter(({ version }) => version !== 'unsigned'),
      }));
      mkdirSync(join(running.dataDirectory, 'signers'), { recursive: true });
      writeFileSync(join(running.dataDirectory, 'signers/garbled'), 'not a key');
      addVersion('garbled', { signer: { file: 'garbled' } });
      applyLimited('garbled', { version: 'garbled' });
    },
  },
  {
    check: 'contract-unusable',
    of: 'dev',
    breaks() {
      addVersion('hollow', { addresses: { sponsorship: nowhere, token: nowhere } });
      applyLimited('hollow', { version: 'hollow' });
    },
  },
  {
    check: 'contract-without-code',
    of: 'undeployed',
    breaks: () => apply(aContract('undeployed', { address: nowhere.replace('C1', 'c2') })),
  },
  {
    check: 'no-funding-wallet',
    of: 'unfunded',
    breaks() {
      addVersion('unfunded', { defaultFunding: undefined });
      applyLimited('unfunded', { version: 'unfunded' });
    },
  },
  // Of a chain of another id than local ones have.
  { check: 'open-funding', of: 'away', breaks: () => undefined, isOfPlatform: true },
  {
    check: 'token-unsecured',
    of: 'dev',
    breaks: () => applyLimited('late', { version: 'singleton-0.7' }),
  },
  {
    check: 'limit-full',
    of: 'full',
    says: /tiny/,
    async breaks() {
      const spendingLimit = { scope: 'PAYMASTER', never: {}, threshold: '0', thresholdType: 'COUNT' };
      apply(aPaymaster('full'), aLimit('tiny', 'full', { spendingLimit }));
      const full = await urlOf('full');
      await until('it refuses', async () => (await ask(full)).reason === 'LIMIT_REACHED');
    },
  },
  {
    check: 'deposit-low',
    of: 'needy',
    async breaks() {
      const devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
      try {
        const data = encodeWith(new Interface(['function depositFor(address)']), 'depositFor', [almostEmpty]);
        const to = devChain.profile('1.1.0').sponsorship;
        await devChain.transactor.send('a small deposit', { to, data, value: 10n ** 9n });
      } finally {
        await devChain.stop();
      }
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
      apply(aChain('stray', 78, { rpc: { urls: [connection.chainRpcUrl] } }));
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
      const secrets = join(running.dataDirectory, 'secrets', namespace);
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
])('$check', async ({ check, of, says, breaks, isOfPlatform }) => {
  await breaks();
  await finds(
    { check, name: of, ...(says && { says }) },
    isOfPlatform ? [asPlatform] : [asOrganisation, asPlatform],
  );
});

test('a price that cannot be used', async () => {
  const file = join(manifests, 'fee-token.yaml');
  const token = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as TokenLike;
  // Without the source that never fails.
  const [price] = token.spec.price.combine.sources;
  writeFileSync(file, stringify({ ...token, spec: { ...token.spec, price } }));
  const { chainRpcUrl, chainId, feeToken } = connection;
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
  const { chainRpcUrl, chainId } = connection;
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
    await finds({ ...lost, name: new URL(dashboardUrl).host }, [ofProcess]);
    await finds(lost, [ofObjects, ofOrganisation]);
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
