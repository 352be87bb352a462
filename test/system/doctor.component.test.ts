import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import type { ProblemRecord } from '../../core/problems/render.js';
import { paymaster } from '../support/paymaster.js';
import { until } from '../support/until.js';
import { aContract, aLimit, aPaymaster, aPolicy, nowhere, useDoctor } from './support/doctor.js';

// `paymaster doctor` on `make run` with something broken: it names the cause, and the same object. What is wrong with chains:
// doctor-chains.

const doctor = useDoctor();
const { asOrganisation, asPlatform, finds, findsEach, apply, applyLimited, changeChain, addVersion } = doctor;
const { ask, urlOf } = doctor;

test('nothing is wrong with the quickstart', async () => {
  await until('deposits were read', async () => (await asOrganisation()).status === 0);
  const { out, error, status } = await paymaster(['doctor'], {
    PAYMASTER_URL: doctor.connection.dashboardUrl,
    PAYMASTER_TOKEN_FILE: doctor.tokenFile,
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
  const nobody = { PAYMASTER_URL: 'http://127.0.0.1:9', PAYMASTER_TOKEN_FILE: doctor.tokenFile };
  expect(await paymaster(['doctor'], nobody)).toMatchObject({ status: 3, out: '' });
  expect(await paymaster(['doctor', '--readyz', 'http://127.0.0.1:9'], {})).toMatchObject({ status: 3 });
});

test('a webhook that did not answer once is not failing yet', async () => {
  const url = 'http://127.0.0.1:9/check';
  apply(
    aPaymaster('hooked'),
    aLimit('hooked-limit', 'hooked'),
    aPolicy('unheard', 'hooked', { policyType: 'WEBHOOK', webhook: { url } }),
  );
  const hooked = await urlOf('hooked');
  await until('it refuses', async () => (await ask(hooked)).reason !== undefined);
  expect((await asOrganisation()).out).not.toContain('webhook-failing');
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
  const organisation = join(doctor.manifests, 'organisation.yaml');
  writeFileSync(
    organisation,
    readFileSync(organisation, 'utf8').replace(
      '  namespace: quickstart',
      `  namespace: quickstart\n  fundingAddresses: ['${address}']`,
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
  const chain = parseAllDocuments(readFileSync(join(doctor.manifests, 'chain.yaml'), 'utf8'))[0]!.toJS() as {
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

findsEach([
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
  {
    check: 'functions-ignored',
    of: 'known-functions',
    says: /execute\(address,uint256,bytes\): it is built in/,
    breaks: () =>
      applyLimited('known-functions', {
        accountFunctions: [{ signature: 'execute(address,uint256,bytes)', shape: 'call' }],
      }),
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
      mkdirSync(join(doctor.running.dataDirectory, 'signers'), { recursive: true });
      writeFileSync(join(doctor.running.dataDirectory, 'signers/garbled'), 'not a key');
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
    of: 'tiny',
    async breaks() {
      const spendingLimit = { scope: 'PAYMASTER', never: {}, threshold: '0', thresholdType: 'COUNT' };
      apply(aPaymaster('full'), aLimit('tiny', 'full', { spendingLimit }));
      const full = await urlOf('full');
      await until('it refuses', async () => (await ask(full)).reason === 'LIMIT_REACHED');
    },
  },
  // Nobody has asked for it again: the server asks itself, a minute after it did not answer.
  { check: 'webhook-failing', of: 'unheard', breaks: () => doctor.pass(60) },
]);
